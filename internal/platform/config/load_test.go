package config

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// place is a working directory with the sources of one test.
type place struct {
	t     *testing.T
	dir   string
	env   []string
	flags []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return &place{t: t, dir: t.TempDir()}
}

func (p *place) file(name, text string) *place {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func (p *place) load() (*Config, error) {
	p.t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(p.flags); err != nil {
		p.t.Fatal(err)
	}
	return Load(Options{Flags: fs, Environ: p.env, Dir: p.dir})
}

func (p *place) mustLoad() *Config {
	p.t.Helper()
	c, err := p.load()
	if err != nil {
		p.t.Fatalf("Load: %v", err)
	}
	return c
}

func TestDefaultsAreCodexManagers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.mustLoad()
	got.sources, got.files = nil, nil
	want := &Config{
		Host: "127.0.0.1", Port: 3001, Console: true, Doors: []string{"app-server", "acp", "ag-ui", "mcp"}, ControlAgents: "off",

		Tools: Tools{Native: "on", Mode: "auto", Sandbox: "docker"},
		Notify: Notify{Kinds: []string{"approval.waiting", "question.waiting", "turn.ended", "turn.failed",
			"job.failed"}, PushServices: []string{"fcm.googleapis.com", "*.push.services.mozilla.com", "*.notify.windows.com",
			"*.push.apple.com"}},
		Limits: Limits{HTTPConnections: 4096, Streams: 10000, StreamsPerAddress: 1000, RPCRate: 600, Tasks: 1000,
			TasksPerSession: 32, StoreWait: 10 * time.Second},
		LogLevel: "info", LogFormat: "auto", Traces: Traces{GenAI: "off"},
		DataDir: filepath.Join(p.dir, ".data"), SQLiteSynchronous: "FULL", NodeGrace: time.Minute, Roles: []string{"api", "runner"},
		Workspaces: "pinned", Checkpoints: "on",
		TurnIdle: 10 * time.Minute, GeminiBin: "gemini",
		CodexBin: "codex", ClaudeBin: "claude", OpenCodeBin: "opencode",
		RuntimeHang: 2 * time.Minute,
		DetachGrace: 15 * time.Minute, RuntimeConfine: "auto",
		KeepNative: "ring", RuntimeEnv: "inherit", RuntimeCredentials: []string{"namespaced"}, CredentialNamespace: "default",
		Retention: Retention{JournalDays: 90, RecordDays: 90, Records: 100_000, ArchivedDays: 365},
		Defaults:  SessionDefaults{ApprovalPolicy: "untrusted", SandboxMode: "read-only", NetworkAccess: "restricted"},
		Queue: Queue{Enabled: true, GlobalConcurrency: 2, MaxPerProject: 100, MaxGlobal: 500, MaxAttempts: 2,
			DefaultTimeout: time.Minute, BackgroundAging: 15 * time.Second, MaxInteractiveBurst: 3,
			SuggestRequestEnabled: true, SuggestRequestWait: 12 * time.Second},
		Agent: Agent{TurnTimeout: 3 * time.Minute, PollInterval: 350 * time.Millisecond, IncludeTurnsGrace: 3 * time.Second,
			UntrustedTerminalGrace: 3 * time.Second, EmptyTurnGrace: 8 * time.Second},
		Extensions: Extensions{RBACMode: "disabled", RBACJWTRoleClaim: "role", RBACJWTActorClaim: "sub", TrustMode: "warn"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("defaults:\n got %+v\nwant %+v", got, want)
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	// Each step adds a stronger source; the value and its source must follow.
	p := newPlace(t)
	check := func(port int, source Source) {
		t.Helper()
		c := p.mustLoad()
		if c.Port != port || c.Source("PORT") != source {
			t.Errorf("PORT = %d from %s, want %d from %s", c.Port, c.Source("PORT"), port, source)
		}
	}
	check(3001, SourceDefault)
	p.file("weak.yaml", "port: 4001\n").file("named.json", `{"PORT": 4002}`).file("flagged.yml", "Port: 4003\n")
	p.file(".env", "HARNESS_CONFIG=weak.yaml\n")
	check(4001, SourceFile)
	p.env = []string{"HARNESS_CONFIG=named.json"}
	check(4002, SourceFile)
	p.flags = []string{"--config", "flagged.yml"}
	check(4003, SourceFile)
	p.file(".env", "PORT=4004\n")
	check(4004, SourceDotenv)
	p.env = append(p.env, "PORT=4005")
	check(4005, SourceEnvironment)
	p.flags = append(p.flags, "--port", "0")
	check(0, SourceFlag)
}

func TestEveryVariableCanBeSetFromEverySource(t *testing.T) {
	t.Parallel()
	for _, v := range Variables() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			value := otherValue(v)
			sources := map[Source]*place{
				SourceEnvironment: newPlace(t),
				SourceDotenv:      newPlace(t).file(".env", "export "+v.Name+"='"+value+"' # said here\n"),
				SourceFile:        newPlace(t).file("c.yaml", v.Key()+": "+value+"\n"),
				SourceFlag:        newPlace(t),
			}
			sources[SourceEnvironment].env = []string{v.Name + "=" + value}
			sources[SourceFile].flags = []string{"--config=c.yaml"}
			if v.Secret {
				delete(sources, SourceFlag)
			} else {
				sources[SourceFlag].flags = []string{"--" + v.Flag() + "=" + value}
			}
			for source, p := range sources {
				// A rule requires a secret with these modes.
				p.env = append(p.env, "AGENT_EXTENSION_RBAC_HEADER_SECRET=for-the-rule-1")
				if v.Name == "AGENT_EXTENSION_RBAC_HEADER_SECRET" {
					p.env = p.env[:len(p.env)-1]
				}
				if v.Name == "HARNESS_NOTIFY_DECIDE_LINKS" {
					p.env = append(p.env, "HARNESS_PUBLIC_URL=https://a.example")
				}
				if v.Name == "HARNESS_NOTIFY_WEBHOOK_URL" {
					p.env = append(p.env, "HARNESS_NOTIFY_WEBHOOK_SECRET=for-the-rule-0001")
				}
				if v.Name == "HARNESS_S3_URL" {
					p.env = append(p.env, "HARNESS_S3_KEY=k:s", "DATABASE_URL=postgres://h/n")
				}
				if v.Name == roleMap {
					p.env = append(p.env, "AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET=for-the-rule-1")
				}
				if v.Name == "HARNESS_WORKSPACE_REMOTE" {
					p.env = append(p.env, "HARNESS_WORKSPACES=git")
				}
				c := p.mustLoad()
				want := value
				if v.path {
					want = filepath.Join(p.dir, value)
				}
				if got := v.text(c); got != want || c.Source(v.Name) != source {
					t.Errorf("set by %s: got %q from %s, want %q", source, got, c.Source(v.Name), want)
				}
			}
		})
	}
}

// otherValue returns an allowed value that is not the default.
func otherValue(v Variable) string {
	switch {
	case len(v.Enum) > 0:
		i := slices.IndexFunc(v.Enum, func(s string) bool { return s != v.Default })
		return v.Enum[i]
	case v.Type() == "bool":
		return map[string]string{"true": "false", "false": "true"}[v.Default]
	case v.Type() == "int", v.Type() == "ms":
		return "77"
	}
	special := map[string]string{
		"HARNESS_PUBLIC_URL": "https://a.example/harness", "HARNESS_NOTIFY_KINDS": "job.failed",
		"HARNESS_NOTIFY_WEBHOOK_URL": "https://a.example/notified", "HARNESS_NOTIFY_NTFY_URL": "http://a.example/topic",
		"HARNESS_S3_URL": "https://s3.example.com:9000/bucket/here/?region=eu", "HARNESS_S3_KEY": "id:se:cret",
		"HARNESS_TOOLS_SANDBOX":        "docker:r.example/a:1",
		"HARNESS_ARCHIVE":              "/srv/archive",
		"HARNESS_NOTIFY_PUSH_SERVICES": "a.example,*.a.example,http://127.0.0.1:81",
		"HARNESS_NODE_ADDRESS":         "node-1.internal:7443", "HARNESS_ROLES": "runner", "HARNESS_DOORS": "none",
		"HARNESS_WORKSPACE_REMOTE": "/srv/git/folders.git",
		"HOST":                     "localhost", "DATABASE_URL": "postgres://u:p@h:5432/n",
		"HARNESS_ALLOWED_ORIGINS": "https://a.example,http://b.example:81", "HARNESS_ALLOWED_HOSTS": "a.example,b.example:81",
		"HARNESS_TRUSTED_PROXIES":   "10.0.0.0/8,::1",
		"HARNESS_OIDC_FILE":         "oidc.json",
		"HARNESS_ROLE_MAP":          "engineers=operator,cn=ops team=admin",
		"HARNESS_RUNTIME_ENV_ALLOW": "COMPANY_*,opencode:KEY", "HARNESS_RUNTIME_CREDENTIALS": "shared,claude=ephemeral",
		"HARNESS_LIMITS": "streams=5,store-wait-ms=300", "HARNESS_RETENTION": "journal-days=0,records=7",
		"HARNESS_TOOLS": "workspace.read,extension:@a/b,extension:*", "HARNESS_TOOLS_RULES": "write=allow,team.look=deny",
		"HARNESS_RUNTIME_LIMITS":  "turns=8,claude.turns=2,acp:a.b.messages=1,session-messages=0",
		"HARNESS_RUNTIME_SANDBOX": "claude=read-only,acp=danger-full-access", "HARNESS_RUNTIME_APPROVAL": "acp:own=never,gemini=on-request",
		"HARNESS_RUNTIME_STATUS": "gemini=preview,claude=disabled",
	}
	if s, ok := special[v.Name]; ok {
		return s
	}
	return "Some-text_0123456789-0123456789"
}

func TestEmptyIsUnsetAndLastAssignmentWins(t *testing.T) {
	t.Parallel()
	p := newPlace(t).file(".env", "CODEX_HOME=\nLOG_LEVEL=\nUNRELATED=$HOME\n")
	p.env = []string{"PORT=1", "PORT=", "LOG_LEVEL=warn", "LOG_LEVEL=debug"}
	c := p.mustLoad()
	if c.Port != 3001 || c.LogLevel != "debug" || c.CodexHome != "" {
		t.Errorf("got port %d, level %q, home %q", c.Port, c.LogLevel, c.CodexHome)
	}
}

// No origin is allowed by default, whatever address the server listens on. An empty list counts as a list, whatever its
// source.
func TestAllowedOriginsByDefault(t *testing.T) {
	t.Parallel()
	listed := func(p *place) *place {
		p.flags = []string{"--config=c.yaml"}
		return p.file("c.yaml", "harness_allowed_origins: [https://b.example]\n")
	}
	for name, c := range map[string]struct {
		set  func(*place)
		want []string
	}{
		"loopback":      {func(*place) {}, nil},
		"localhost":     {func(p *place) { p.env = []string{"HOST=localhost"} }, nil},
		"loopback IPv6": {func(p *place) { p.env = []string{"HOST=::1"} }, nil},
		"everywhere":    {func(p *place) { p.env = []string{"HOST=0.0.0.0"} }, nil},
		"set": {func(p *place) { p.env = []string{"HARNESS_ALLOWED_ORIGINS=https://a.example"} },
			[]string{"https://a.example"}},
		"set, everywhere": {func(p *place) { p.env = []string{"HOST=::", "HARNESS_ALLOWED_ORIGINS=https://a.example"} },
			[]string{"https://a.example"}},
		"in a file":               {func(p *place) { listed(p) }, []string{"https://b.example"}},
		"empty":                   {func(p *place) { listed(p).env = []string{"HARNESS_ALLOWED_ORIGINS="} }, nil},
		"empty .env":              {func(p *place) { listed(p).file(".env", "HARNESS_ALLOWED_ORIGINS=\n") }, nil},
		"empty flag":              {func(p *place) { listed(p).flags = append(p.flags, "--allowed-origins=") }, nil},
		"empty in a file":         {func(p *place) { listed(p).file("c.yaml", "harness_allowed_origins: []\n") }, nil},
		"null in a file":          {func(p *place) { listed(p).file("c.yaml", "harness_allowed_origins:\n") }, nil},
		"another one in the .env": {func(p *place) { listed(p).file(".env", "HARNESS_ALLOWED_ORIGINS=https://c.example\n") }, []string{"https://c.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c.set(p)
			if got := p.mustLoad().AllowedOrigins; !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestListsAndPaths(t *testing.T) {
	t.Parallel()
	p := newPlace(t).file("c.yaml",
		"harness_allowed_hosts: [a.example, 'b.example:81']\nagent_extension_package_roots: 'one:/two::three'\ndata_dir: /abs/x\n")
	p.flags = []string{"--config=c.yaml"}
	c := p.mustLoad()
	if want := []string{"a.example", "b.example:81"}; !slices.Equal(c.AllowedHosts, want) {
		t.Errorf("hosts = %q, want %q", c.AllowedHosts, want)
	}
	want := []string{filepath.Join(p.dir, "one"), "/two", filepath.Join(p.dir, "three")}
	if !slices.Equal(c.Extensions.PackageRoots, want) {
		t.Errorf("roots = %q, want %q", c.Extensions.PackageRoots, want)
	}
	if c.DataDir != "/abs/x" {
		t.Errorf("data dir = %q", c.DataDir)
	}
}

func TestBoolFlagNeedsNoValue(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.flags = []string{"--session-defaults-locked", "--orchestrator-queue-enabled=false"}
	c := p.mustLoad()
	if !c.Defaults.Locked || c.Queue.Enabled {
		t.Errorf("locked %v, queue %v", c.Defaults.Locked, c.Queue.Enabled)
	}
}

func TestFlagsKeepOffSecrets(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	for _, v := range Variables() {
		if v.Secret && v.Flag() != "" {
			t.Errorf("%s is secret but has the flag --%s", v.Name, v.Flag())
		}
	}
	if err := fs.Parse([]string{"--auth-token=x"}); err == nil {
		t.Error("--auth-token was accepted")
	}
	ShowCommonFlags(fs)
	if usage := fs.FlagUsages(); !strings.Contains(usage, "--port int") {
		t.Errorf("usage does not show the type of --port:\n%s", usage)
	}
}

func TestErrorsAreOurs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env = []string{"PORT=x"}
	_, err := p.load()
	var bad *Error
	if !errors.As(err, &bad) || bad.Variable != "PORT" || bad.Value != "x" || bad.Source != SourceEnvironment {
		t.Fatalf("err = %#v", err)
	}
}

// A .env counts only with consent to exactly its content, unless it has no setting of ours or this run consents. No
// file can consent.
func TestADotenvNeedsConsent(t *testing.T) {
	t.Parallel()
	refuse := func(string, []byte) error { return errors.New("no consent") }
	load := func(p *place, consent Consent) (*Config, error) {
		return Load(Options{Environ: p.env, Dir: p.dir, Consent: consent})
	}
	for _, text := range []string{"PORT=4000\n", "HARNESS_CONFIG=c.yaml\n", "HARNESS_ALLOWED_ORIGINS=\n"} {
		p := newPlace(t).file(".env", text).file("c.yaml", "port: 4000\n")
		var failed *FileError
		if _, err := load(p, refuse); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no consent") {
			t.Errorf("%q: %v", text, err)
		}
		asked := ""
		first := func(path string, content []byte) error { asked = cmp.Or(asked, path+string(content)); return nil }
		if _, err := load(p, first); err != nil || asked != filepath.Join(p.dir, ".env")+text {
			t.Errorf("%q: %v, asked for %q", text, err, asked)
		}
		p.env = []string{"HARNESS_TRUST=true"}
		if c, err := load(p, refuse); err != nil || !c.Trust {
			t.Errorf("%q with HARNESS_TRUST: %v", text, err)
		}
	}
	// A config file named by a .env comes from the same author.
	p := newPlace(t).file(".env", "HARNESS_CONFIG=c.yaml\n").file("c.yaml", "port: 4000\n")
	onlyDotenv := func(path string, _ []byte) error {
		if filepath.Base(path) != ".env" {
			return errors.New("no consent")
		}
		return nil
	}
	if _, err := load(p, onlyDotenv); err == nil || !strings.Contains(err.Error(), "c.yaml: a .env names it") {
		t.Errorf("the config file of a .env: %v", err)
	}
	p.env = []string{"HARNESS_CONFIG=c.yaml"}
	if c, err := load(p, onlyDotenv); err != nil || c.Port != 4000 {
		t.Errorf("the operator's config file: %v", err)
	}
	for _, text := range []string{"", "OTHER=1\n", "PORT=\n"} {
		if c, err := load(newPlace(t).file(".env", text), refuse); err != nil || c.Trust {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := load(newPlace(t).file(".env", "HARNESS_TRUST=true\n"), nil); err == nil ||
		!strings.Contains(err.Error(), "cannot consent to itself") {
		t.Errorf("consenting .env: %v", err)
	}
	if _, err := newPlace(t).file("c.yaml", "harness_trust: true\n").load(); err != nil {
		t.Errorf("a file that is not named: %v", err)
	}
	p = newPlace(t).file("c.yaml", "harness_trust: true\n")
	p.flags = []string{"--config=c.yaml"}
	if _, err := p.load(); err == nil {
		t.Error("a consenting config file")
	}
	p = newPlace(t)
	p.env = []string{"HARNESS_TRUST=yes"}
	if _, err := p.load(); err == nil || !strings.Contains(err.Error(), `"yes"`) {
		t.Errorf("HARNESS_TRUST=yes: %v", err)
	}
	p.flags = []string{"--trust=false"}
	if c := p.mustLoad(); c.Trust {
		t.Error("--trust=false trusts")
	}
}
