package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The amounts named in a list are set, and the others keep their defaults.
func TestNamedAmounts(t *testing.T) {
	t.Parallel()
	c := envPlace(t, "HARNESS_LIMITS=streams=5,streams=6,tasks=2", "HARNESS_RETENTION=turns=3,journal-days=0").mustLoad()
	if l := c.Limits; l.Streams != 6 || l.Tasks != 2 || l.StreamsPerAddress != 1000 || l.RPCRate != 600 {
		t.Errorf("limits are %+v", l)
	}
	if r := c.Retention; r.Turns != 3 || r.JournalDays != 0 || r.RecordDays != 90 || r.Records != 100_000 {
		t.Errorf("kept is %+v", r)
	}
}

// The URL of an object store has its bucket, and perhaps a prefix.
func TestTheURLOfAnObjectStore(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][4]string{
		"https://s3.example/b": {"https://s3.example", "b", "", "us-east-1"}, "http://h:9/b/": {"http://h:9", "b", "", "us-east-1"},
		"https://s3.example/b/a/c/?region=eu-1": {"https://s3.example", "b", "a/c/", "eu-1"},
		"https://s3.example/b/x":                {"https://s3.example", "b", "x", "us-east-1"},
		"https://s3.example":                    {}, "https://s3.example/": {}, "https://u:p@h/b": {}, "s3://b": {},
		"https://h/b?": {}, "https://h/b?region=": {}, "https://h/b?region=a&x=1": {}, "https://h/b?x=1": {}, "https://h/b#x": {},
	} {
		c, err := envPlace(t, "HARNESS_S3_URL="+url, "HARNESS_S3_KEY=k:s:s", "HARNESS_ARCHIVE=s3").load()
		if (err == nil) != (want[0] != "") {
			t.Errorf("%s: %v", url, err)
		} else if err == nil && (want != [4]string{c.S3.Endpoint, c.S3.Bucket, c.S3.Prefix, c.S3.Region} ||
			c.S3.AccessKeyID != "k" || c.S3.SecretAccessKey != "s:s" || !slices.Contains(c.Secrets(), "s:s")) {
			t.Errorf("%s is %+v", url, c.S3)
		}
	}
}

// Tools, extensions and rules are separate lists for the server.
func TestToolsAndTheirRules(t *testing.T) {
	t.Parallel()
	got := envPlace(t, "HARNESS_TOOLS=workspace.read,extension:@a/b,http.fetch,extension:*",
		"HARNESS_TOOLS_RULES=write=allow,network=deny,team.look=allow", "HARNESS_PUBLIC_URL=https://a.example/b/c").mustLoad()
	for _, list := range [][2]string{{"workspace.read http.fetch", strings.Join(got.Tools.Names, " ")},
		{"@a/b *", strings.Join(got.Tools.Extensions, " ")}, {"write team.look", strings.Join(got.Tools.Allow, " ")},
		{"network", strings.Join(got.Tools.Deny, " ")}, {"/b/c", got.BasePath}} {
		if list[0] != list[1] {
			t.Errorf("want %q, got %q", list[0], list[1])
		}
	}
}

// A value for one runtime takes precedence over a value for all.
func TestCredentialLevels(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"": "namespaced", "shared": "shared", "claude=ephemeral": "ephemeral", "gemini=shared": "namespaced",
		"claude=ephemeral,shared": "ephemeral", "shared,ephemeral": "ephemeral",
	} {
		p := newPlace(t)
		p.env = []string{"HARNESS_RUNTIME_CREDENTIALS=" + setting}
		if got := p.mustLoad().CredentialLevel("claude"); got != want {
			t.Errorf("%q is %s, want %s", setting, got, want)
		}
	}
}

// No operator can pass the server's own secrets to a runtime by mistake; a model's key belongs to a runtime.
func TestSecretsOfTheServerAreNotAllowed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HARNESS_AUTH_TOKEN", "claude:DATABASE_URL", "AGENT_EXTENSION_RBAC_JWT_SECRET"} {
		p := newPlace(t)
		p.env = []string{"HARNESS_RUNTIME_ENV_ALLOW=FINE," + name}
		if _, err := p.load(); err == nil || !strings.Contains(err.Error(), "HARNESS_RUNTIME_ENV_ALLOW") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := newPlace(t)
	p.env = []string{"HARNESS_RUNTIME_ENV_ALLOW=opencode:OPENAI_API_KEY", "DATABASE_URL=postgres://u:p@h/d"}
	kept := p.mustLoad().KeptSecrets()
	if slices.Contains(kept, "OPENAI_API_KEY") || !slices.Contains(kept, "HARNESS_AUTH_TOKEN") ||
		!slices.Contains(kept, "PGPASSWORD") {
		t.Errorf("no runtime gets %v", kept)
	}
}

func TestLimitsOfARuntime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for setting, want := range map[string]int{"": 0, "turns=8": 8, "turns=8,claude.turns=2": 2, "claude.turns=0,turns=8": 0,
		"gemini.turns=3": 0} {
		p.env = []string{"HARNESS_RUNTIME_LIMITS=" + setting}
		got := p.mustLoad().LimitsOf("claude")
		if want := (RuntimeLimits{Turns: want, Messages: 4096, SessionMessages: 256, Processes: 8, MemoryMB: 512,
			Start: 30 * time.Second}); got != want {
			t.Errorf("%q: %+v, want %+v", setting, got, want)
		}
	}
}
