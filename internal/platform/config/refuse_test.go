package config

import (
	"strings"
	"testing"
)

func TestBadValueIsOneLineThatNamesEverything(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, value, allowed string }{
		{"PORT", "70000", "a whole number from 0 to 65535"},
		{"PORT", "-1", "a whole number from 0 to 65535"},
		{"PORT", "1e3", "a whole number"},
		{"PORT", "80 ", "a whole number"},
		{"SESSION_DEFAULTS_LOCKED", "1", "true, false"},
		{"SESSION_DEFAULTS_LOCKED", "yes", "true, false"},
		{"SESSION_DEFAULTS_LOCKED", "TRUE", "true, false"},
		{"LOG_LEVEL", "verbose", "fatal, error, warn, info, debug, trace, silent"},
		{"DEFAULT_APPROVAL_POLICY", "always", "untrusted, on-failure, on-request, never"},
		{"HARNESS_SQLITE_SYNCHRONOUS", "off", "FULL, NORMAL"},
		{"ORCHESTRATOR_QUEUE_GLOBAL_CONCURRENCY", "0", "a whole number >= 1"},
		{"HARNESS_NODE_GRACE_MS", "10s", "(milliseconds)"},
		{"HARNESS_NODE_GRACE_MS", "9223372036854775807", "(milliseconds)"},
		{"HOST", "http://x", "without port"},
		{"HOST", "127.0.0.1:80", "without port"},
		{"HOST", "a b\nc", "without port"},
		{"HARNESS_ALLOWED_ORIGINS", "*", "no *"},
		{"HARNESS_ALLOWED_ORIGINS", "https://ok.example,https://x.example/path", "no path"},
		{"HARNESS_ALLOWED_ORIGINS", "x.example", "no path"},
		{"HARNESS_ALLOWED_ORIGINS", "null", "no path"},
		{"HARNESS_ALLOWED_HOSTS", "https://x.example", "no scheme"},
		{"HARNESS_ALLOWED_HOSTS", "*.example", "no *"},
		{"HARNESS_PUBLIC_URL", "https://a.example/harness/", "without a slash at its end"},
		{"HARNESS_PUBLIC_URL", "https://a.example/a<b", "an http or https URL"},
		{"HARNESS_TOOLS", "extension:", "extension:NAME"},
		{"HARNESS_TOOLS_RULES", "write", "NAME=allow and NAME=deny"},
		{"HARNESS_TOOLS_RULES", "write=ask", "NAME=allow and NAME=deny"},
		{"HARNESS_TOOLS_RULES", "=deny", "NAME=allow and NAME=deny"},
		{"HARNESS_RUNTIME_LIMITS", "start-ms=0", "start-ms"},
		{"HARNESS_CONSOLE", "maybe", "true, false"},
		{"HARNESS_PUBLIC_URL", "https://a.example/", "without a slash at its end"},
		{"HARNESS_PUBLIC_URL", "https://a.example?x=1", "without a slash at its end"},
		{"HARNESS_NOTIFY_KINDS", "everything", "approval.waiting"},
		{"HARNESS_TRUSTED_PROXIES", "proxy.example", "IP addresses or networks"},
		{"HARNESS_ROLE_MAP", "engineers", "NAME=ROLE such as engineers=operator"},
		{"HARNESS_ROLE_MAP", "engineers:operator", "NAME=ROLE such as engineers=operator"},
		{"HARNESS_ROLE_MAP", "=operator", "NAME=ROLE such as engineers=operator"},
		{"HARNESS_ROLE_MAP", "engineers=", "viewer, member, ci, operator, admin, owner, system"},
		{"HARNESS_ROLE_MAP", "engineers=operator,all=Admin", "viewer, member, ci, operator, admin, owner, system"},
		{"HARNESS_ROLE_MAP", "engineers=agent", "viewer, member, ci, operator, admin, owner, system"},
		{"AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM", "realm_access..roles", "a path of names with dots (realm_access.roles)"},
		{"AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM", ".roles", "a path of names with dots (realm_access.roles)"},
		{"AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM", "roles.", "a path of names with dots (realm_access.roles)"},
		{"AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM", " ", "a path of names with dots (realm_access.roles)"},
		{"AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM", " role", "a path of names with dots (realm_access.roles)"},
		{"HARNESS_RUNTIME_ENV_ALLOW", "*", "at least 3 characters"},
		{"HARNESS_RUNTIME_ENV_ALLOW", "A=b", "RUNTIME:NAME"},
		{"HARNESS_RUNTIME_LIMITS", "turns=-1", "RUNTIME.NAME=N"},
		{"HARNESS_RUNTIME_LIMITS", "1", "RUNTIME.NAME=N"},
		{"HARNESS_RUNTIME_LIMITS", ".turns=1", "RUNTIME.NAME=N"},
		{"HARNESS_RUNTIME_LIMITS", "claude.messages=many", "RUNTIME.NAME=N"},
		{"HARNESS_RUNTIME_LIMITS", "turn=1", "RUNTIME.NAME=N"},
		{"HARNESS_RUNTIME_LIMITS", "processes=0", "RUNTIME.NAME=N"},
		{"HARNESS_LIMITS", "streams=-1", "list of NAME=N"},
		{"HARNESS_LIMITS", "stream=1", "streams-per-address"},
		{"HARNESS_LIMITS", "tasks=0", "list of NAME=N"},
		{"HARNESS_LIMITS", "store-wait-ms=+5", "list of NAME=N"},
		{"HARNESS_LIMITS", "7", "list of NAME=N"},
		{"HARNESS_RETENTION", "journal-days=36501", "archived-days"},
		{"HARNESS_RETENTION", "records=", "archived-days"},
		{"HARNESS_RUNTIME_SANDBOX", "cluade=read-only", "RUNTIME=LEVEL"},
		{"HARNESS_RUNTIME_SANDBOX", "claude=readonly", "workspace-write"},
		{"HARNESS_RUNTIME_SANDBOX", "read-only", "RUNTIME=LEVEL"},
		{"HARNESS_RUNTIME_APPROVAL", "acp:=never", "acp:NAME"},
		{"HARNESS_RUNTIME_CREDENTIALS", "private", "shared, namespaced, ephemeral"},
		{"HARNESS_RUNTIME_CREDENTIALS", "=shared", "RUNTIME=LEVEL"},
		{"HARNESS_CREDENTIAL_NAMESPACE", strings.Repeat("n", 65), "printable text"},
	}
	for _, c := range cases {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env = []string{c.name + "=" + c.value}
			_, err := p.load()
			if err == nil {
				t.Fatal("accepted")
			}
			line := err.Error()
			quoted := strings.ReplaceAll(c.value, "\n", `\n`)
			for _, want := range []string{c.name, quoted, c.allowed, "environment"} {
				if !strings.Contains(line, want) {
					t.Errorf("%q does not name %q", line, want)
				}
			}
			if strings.Contains(line, "\n") {
				t.Errorf("more than one line: %q", line)
			}
		})
	}
}

// No refusal may quote a secret.
func TestRefusalsNeverShowSecrets(t *testing.T) {
	t.Parallel()
	const canary = "kanari"
	cases := map[string]*place{
		"short token":     envPlace(t, "HARNESS_AUTH_TOKEN="+canary),
		"token with tab":  envPlace(t, "HARNESS_AUTH_TOKEN="+canary+"\t0123456789abcdef"),
		"short jwt key":   envPlace(t, "AGENT_EXTENSION_RBAC_JWT_SECRET="+canary),
		"database scheme": envPlace(t, "DATABASE_URL=mysql://u:"+canary+"@h/n"),
		"database broken": envPlace(t, "DATABASE_URL=postgres://u:"+canary+"%zz@h/n"),
		"database hash":   envPlace(t, "DATABASE_URL=postgres://u:12#"+canary+"@h/n"),
		"database dsn":    envPlace(t, "DATABASE_URL=host=h password="+canary),
		"dotenv broken":   newPlace(t).file(".env", "A=1\nHARNESS_AUTH_TOKEN='"+canary+"\n"),
		"dotenv dollar":   newPlace(t).file(".env", "HARNESS_AUTH_TOKEN="+canary+"$x\n"),
		"yaml broken":     envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", "a: "+canary+": x\n\t- "+canary),
		"yaml scalar":     envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", canary),
		"json broken":     envPlace(t, "HARNESS_CONFIG=c.json").file("c.json", `{"port": `+canary+`}`),
		"secret a list":   envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", "harness_auth_token: ["+canary+"]\n"),
		"secret a map":    envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", "harness_auth_token: {x: "+canary+"}\n"),
	}
	for name, p := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := p.load()
			if err == nil {
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "\n") {
				t.Errorf("leaks or is longer than a line: %q", err)
			}
		})
	}
}

func envPlace(t *testing.T, env ...string) *place {
	t.Helper()
	p := newPlace(t)
	p.env = env
	return p
}

func TestFilesAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		p    *place
		want string
	}{
		"missing":      {envPlace(t, "HARNESS_CONFIG=none.yaml"), "cannot read the config file"},
		"extension":    {envPlace(t, "HARNESS_CONFIG=c.toml").file("c.toml", ""), ".yaml, .yml or .json"},
		"a key twice":  {envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", "port: 1\nPORT: 2\n"), `PORT is there twice`},
		"unknown key":  {envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", "prot: 1\n"), `"prot" is no variable`},
		"port a list":  {envPlace(t, "HARNESS_CONFIG=c.yaml").file("c.yaml", "port: [1]\n"), "PORT (from file)"},
		"port a float": {envPlace(t, "HARNESS_CONFIG=c.json").file("c.json", `{"port": 80.5}`), `"80.5"`},
		"dotenv line":  {newPlace(t).file(".env", "A=1\n\nDATA_DIR='2 3\nC=1\n"), "line 3"},
		"dotenv $":     {newPlace(t).file(".env", "A=$x\nDATA_DIR=a$b\n"), "line 2: the value of DATA_DIR contains $"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.p.load()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestDotenvKeepsDollarInSingleQuotes(t *testing.T) {
	t.Parallel()
	p := newPlace(t).file(".env", "HARNESS_AUTH_TOKEN='0123456789abcd$ef01234567'\nDATA_DIR=a\\$b\n")
	c := p.mustLoad()
	if c.AuthToken != "0123456789abcd$ef01234567" || !strings.HasSuffix(c.DataDir, "/a$b") {
		t.Errorf("token %q, data dir %q", c.AuthToken, c.DataDir)
	}
}

// Settings that are refused at start, each with the reason.
func TestRulesBetweenExtensionSettings(t *testing.T) {
	t.Parallel()
	const jwtMode = "AGENT_EXTENSION_RBAC_MODE=jwt AGENT_EXTENSION_RBAC_JWT_SECRET=long-enough "
	cases := []struct {
		env  string
		want string // part of the refusal, "" when accepted
	}{
		{"AGENT_EXTENSION_RBAC_MODE=header", "AGENT_EXTENSION_RBAC_HEADER_SECRET"},
		{"AGENT_EXTENSION_RBAC_MODE=header AGENT_EXTENSION_RBAC_HEADER_SECRET=long-enough", ""},
		{"AGENT_EXTENSION_RBAC_MODE=header AGENT_EXTENSION_RBAC_HEADER_SECRET=long-enough HOST=0.0.0.0", "loopback HOST"},
		{"AGENT_EXTENSION_RBAC_MODE=header AGENT_EXTENSION_RBAC_HEADER_SECRET=long-enough HOST=::1", ""},
		{"AGENT_EXTENSION_RBAC_MODE=header AGENT_EXTENSION_ALLOW_INSECURE_HEADER_MODE=true HOST=0.0.0.0", ""},
		{"AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET"},
		{"AGENT_EXTENSION_RBAC_MODE=jwt AGENT_EXTENSION_RBAC_JWT_SECRET=long-enough HOST=0.0.0.0", ""},
		{"HARNESS_ROLE_MAP=engineers=operator", "set AGENT_EXTENSION_RBAC_MODE=jwt"},
		{jwtMode + "HARNESS_ROLE_MAP=engineers=operator,admins=admin,engineers=operator", ""},
		{jwtMode + "HARNESS_ROLE_MAP=engineers=operator,admins=admin,engineers=viewer", `"engineers" to operator and to viewer`},
		{jwtMode + "AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM=https://example.com/roles", ""},
		{jwtMode + "AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM=resource_access.CLIENT.roles", ""},
		{"HARNESS_NOTIFY_WEBHOOK_URL=https://a.example", "HARNESS_NOTIFY_WEBHOOK_SECRET"},
		{"HARNESS_NOTIFY_DECIDE_LINKS=true", "HARNESS_PUBLIC_URL"},
		{"HARNESS_NOTIFY_DECIDE_LINKS=true HARNESS_PUBLIC_URL=http://a.example", "HARNESS_PUBLIC_URL with https"},
		{"HARNESS_NOTIFY_DECIDE_LINKS=true HARNESS_PUBLIC_URL=https://a.example", ""},
		{"HARNESS_NODE_ADDRESS=0.0.0.0:7443", "HARNESS_NODE_ADDRESS"},
		{"HARNESS_NODE_ADDRESS=[::]:7443", "HARNESS_NODE_ADDRESS"},
		{"HARNESS_NODE_ADDRESS=:7443", "HARNESS_NODE_ADDRESS"},
		{"HARNESS_NODE_ADDRESS=node-1", "HARNESS_NODE_ADDRESS"},
		{"HARNESS_NODE_ADDRESS=[fd00::1]:7443", ""},
	}
	for _, c := range cases {
		t.Run(c.env, func(t *testing.T) {
			t.Parallel()
			_, err := envPlace(t, strings.Fields(c.env)...).load()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("err = %v, want it to name %q", err, c.want)
			}
		})
	}
}
