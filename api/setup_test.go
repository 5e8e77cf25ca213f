package api_test

import (
	"strings"
	"testing"

	"harness/api/sessions"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/tests/runtimetest/scripted"
)

// started is an adapter whose program runs.
type started struct{ runtime.Adapter }

func (started) Status() runtime.Status {
	return runtime.Status{State: runtime.StateReady, Version: "1.2.3"}
}

// What is missing has its remedy: a login, a start, an installation. CO-23
func TestWhatIsMissingBeforeAgentsWork_CO23(t *testing.T) {
	t.Parallel()
	token := scripted.Options{}
	token.Env = []string{scripted.TokenVariable + "=x"}
	for name, one := range map[string]struct {
		adapter runtime.Adapter
		absent  []operations.AbsentAgent
		want    string
	}{
		"ready": {started{scripted.New(token)}, nil, `{"name":"scripted","default":true,"state":"ready","version":"1.2.3","logins":[]}`},
		"signed out": {started{scripted.New(scripted.Options{})}, nil, `{"name":"scripted","default":true,"state":"signIn","version":"1.2.3",` +
			`"remedy":"set ` + scripted.TokenVariable + `","logins":[]}`},
		"not started": {scripted.New(token), nil, `{"name":"scripted","default":true,"state":"unavailable","version":"7.1","remedy":"it is not started","logins":[]}`},
		"absent": {codex.New(codex.Options{}), []operations.AbsentAgent{{Name: codex.Name, Install: runtime.Install{Command: "get it", Setting: "BIN"}}},
			`{"name":"codex","default":true,"state":"notInstalled","remedy":"Install it, or set BIN to its program. Then restart the server.",` +
				`"command":"get it","logins":[]}`},
	} {
		b := setup(t, func(p *parts) {
			p.Runtimes = twoRuntimes{[]runtime.Adapter{one.adapter}}
			p.Absent = func() []operations.AbsentAgent { return one.absent }
		})
		t.Log(name)
		expect(t, b.send("GET", "/api/setup", "", ""), 200, `{"agents":[`+one.want+`],"server":{"version":"test","ready":true},`+
			`"access":{"approvalPolicy":"untrusted","filesystemSandbox":"read-only","networkAccess":"restricted","chosen":false}}`)
	}
}

// The access of new sessions is chosen if a setting or an administrator set it. CO-61
func TestTheAccessOfNewSessionsIsChosen(t *testing.T) {
	t.Parallel()
	setting := func(name, value, source string) sessions.Setting {
		return sessions.Setting{Name: name, Value: value, Source: source}
	}
	factory := []sessions.Setting{setting("DEFAULT_APPROVAL_POLICY", "untrusted", "default"), setting("DEFAULT_SANDBOX_MODE", "read-only", "default"),
		setting("HARNESS_RUNTIME_SANDBOX", "", "default"), setting("PORT", "1", "flag")}
	for name, one := range map[string]struct {
		settings []sessions.Setting
		sandbox  string
		locked   bool
		chosen   string
	}{
		"as it is shipped":     {factory, "read-only", false, "false"},
		"the defaults changed": {factory, "workspace-write", false, "true"},
		"locked":               {factory, "read-only", true, "true"},
		"a setting":            {append(factory, setting("DEFAULT_SANDBOX_MODE", "read-only", "environment")), "read-only", false, "true"},
		"of a runtime":         {append(factory, setting("HARNESS_RUNTIME_APPROVAL", "codex=never", "file")), "read-only", false, "true"},
	} {
		b := setup(t, func(p *parts) {
			p.Settings, p.DefaultsLocked = one.settings, one.locked
			p.Controls = newFakeControls("untrusted", "restricted", one.sandbox)
		})
		if got := b.send("GET", "/api/setup", "", "").Body.String(); !strings.Contains(got, `"chosen":`+one.chosen) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
