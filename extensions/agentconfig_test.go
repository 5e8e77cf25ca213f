package extensions

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Both shapes are parsed strictly. An invalid value is refused, and the error lists the valid ones.
func TestAgentConfig(t *testing.T) {
	t.Parallel()
	all := func(p TurnPolicy) AgentConfig { return AgentConfig{Start: p, Prepare: p, Instruct: p} }
	ours := all(TurnPolicy{"read-only", "restricted", "on-request", "high"})
	ours.Model, ours.Runtime, ours.Orientation, ours.TurnTimeout = "m", "codex", "Hello.", 90*time.Second
	refined := AgentConfig{Model: "m", Start: TurnPolicy{"read-only", "enabled", "on-failure", "low"},
		Prepare:  TurnPolicy{"read-only", "enabled", "never", "high"},
		Instruct: TurnPolicy{"danger-full-access", "enabled", "untrusted", "low"}}
	const values = "; use read-only, workspace-write, danger-full-access"
	for _, c := range []struct {
		name, text string
		want       AgentConfig
		err        string
	}{
		{name: "nothing said", text: `{}`},
		{name: "model alone", text: `{"model":" m "}`, want: AgentConfig{Model: "m"}},
		{name: "our shape", want: ours,
			text: "\ufeff" + `{"model":"m","runtime":"codex","sandbox":"read-only","networkAccess":"restricted",` +
				`"approvalPolicy":"on-request","effort":"high","orientation":"Hello.","turnTimeoutMs":90000}`},
		{name: "codex-manager's shape",
			text: `{"turnPolicy":{"sandbox":"read-only","networkAccess":"restricted","approvalPolicy":"untrusted","effort":"none"}}`,
			want: all(TurnPolicy{"read-only", "restricted", "untrusted", "none"})},
		{name: "refined", want: refined,
			text: `{"model":"m","turnPolicy":{"sandbox":"workspace-write","networkAccess":"enabled","approvalPolicy":"never","effort":"low"},` +
				`"orientationTurnPolicy":{"sandbox":"read-only","effort":"high"},` +
				`"instructionTurnPolicy":{"sandbox":"danger-full-access","approvalPolicy":"untrusted"},` +
				`"threadStartPolicy":{"sandbox":"read-only","approvalPolicy":"on-failure"}}`},
		{name: "half said", text: `{"instructionTurnPolicy":{"sandbox":"read-only"}}`,
			want: AgentConfig{Start: TurnPolicy{FilesystemSandbox: "read-only"},
				Instruct: TurnPolicy{FilesystemSandbox: "read-only"}}},

		{name: "unknown member", text: `{"colour":"red"}`, err: "colour is unknown; it may have model, runtime, turnPolicy"},
		{name: "another case", text: `{"Sandbox":"read-only"}`, err: "Sandbox is unknown"},
		{name: "unknown in a policy", text: `{"turnPolicy":{"sandboxMode":"read-only"}}`,
			err: "turnPolicy.sandboxMode is unknown; it may have sandbox, networkAccess, approvalPolicy, effort"},
		{name: "network of a start", text: `{"threadStartPolicy":{"networkAccess":"restricted"}}`,
			err: "threadStartPolicy.networkAccess is unknown; it may have sandbox, approvalPolicy"},
		{name: "misspelt", text: `{"sandbox":"readonly","effort":1}`,
			err: `effort must be one of none, minimal, low, medium, high, xhigh; sandbox is "readonly"` + values},
		{name: "misspelt in a policy", text: `{"instructionTurnPolicy":{"sandbox":"readOnly"}}`,
			err: `instructionTurnPolicy.sandbox is "readOnly"` + values},
		{name: "null policy", text: `{"turnPolicy":null}`, err: "turnPolicy: it is not a JSON object"},
		{name: "null value", text: `{"turnPolicy":{"approvalPolicy":null}}`,
			err: "turnPolicy.approvalPolicy must be one of untrusted, on-failure, on-request, never"},
		{name: "blank model", text: `{"model":" "}`, err: "model must be a text that is not blank"},
		{name: "another runtime", text: `{"runtime":"claude"}`, err: `runtime is "claude"; use codex`},
		{name: "both shapes", text: `{"turnPolicy":{},"sandbox":"read-only"}`,
			err: "turnPolicy belong to one shape of this file and sandbox to another"},
		{name: "our addition beside the other shape", text: `{"threadStartPolicy":{},"turnTimeoutMs":5000}`,
			err: "use one of them"},
		{name: "said twice", text: `{"turnPolicy":{"sandbox":"read-only","sandbox":"danger-full-access"}}`,
			err: "turnPolicy: sandbox is set twice"},
		{name: "syntax", text: "{\n\"model\":}",
			err: "it is no JSON: invalid character '}' looking for beginning of value (line 2 column 9)"},
		{name: "two documents", text: `{}{}`, err: "it is no JSON"},
		{name: "a list", text: `[]`, err: "it is not a JSON object"},
		{name: "timeout", text: `{"turnTimeoutMs":5}`, err: "turnTimeoutMs must be a whole number from 1000 to 3600000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, agentConfigFile)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := readAgentConfig(dir, []string{"codex"})
			if c.err != "" {
				if got.err == nil || !strings.Contains(got.err.Error(), c.err) || !strings.HasPrefix(got.err.Error(), file+": ") ||
					got.config != (AgentConfig{}) {
					t.Fatalf("read as %+v", got)
				}
				return
			}
			if got.err != nil || !reflect.DeepEqual(got.config, c.want) {
				t.Errorf("read as %+v", got)
			}
		})
	}
	if got := readAgentConfig(t.TempDir(), nil); got != nil {
		t.Errorf("without a file: %+v", got)
	}
}

// A file applies to the agent of its folder's name and to the agent of its manifest, even if the extension does not
// load. If it is unclear which file applies, no worker runs.
func TestAgentPoliciesAreFoundAndFailClosed(t *testing.T) {
	t.Parallel()
	const narrow, manifest = `{"sandbox":"read-only"}`, `{"name":"n","version":"1","displayName":"d","agentId":"`
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("named/agent.config.json", narrow)
	write("named/extension.manifest.json", manifest+`by-manifest"}`)
	write("broken/agent.config.json", narrow)
	write("broken/events.js", `export function (`)
	write("no-extension/agent.config.json", narrow)
	write("bad/agent.config.json", `{"sandbox":"wide"}`)
	write("twice/agent.config.json", narrow)
	write("other/agent.config.json", `{"sandbox":"danger-full-access"}`)
	write("other/extension.manifest.json", manifest+`twice"}`)
	write("linked/events.js", ``)
	if err := os.Symlink(filepath.Join(root, "named", agentConfigFile),
		filepath.Join(root, "linked", agentConfigFile)); err != nil {
		t.Fatal(err)
	}
	registry := New(Options{Roots: []Root{{Type: RepoLocal, Path: root}}, Logger: zerolog.Nop()})
	t.Cleanup(func() {
		if err := registry.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	registry.Load(t.Context())
	for agent, want := range map[string]string{"named": "", "by-manifest": "", "broken": "", "no-extension": "",
		"bad":   `sandbox is "wide"`,
		"twice": `both about agent "twice"`, "linked": "agent.config.json"} {
		config, err := registry.AgentConfig(agent)
		if want == "" && (err != nil || config.Instruct.FilesystemSandbox != "read-only") || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", agent, config, err)
		}
	}
	if config, err := registry.AgentConfig("unknown"); err != nil || config != (AgentConfig{}) {
		t.Errorf("an agent without a file: %+v, %v", config, err)
	}
	// An unreadable file that names no agent may be about any agent that no other file names.
	write("lost/agent.config.json", narrow)
	write("lost/extension.manifest.json", `{"agentId":`)
	registry.Load(t.Context())
	if _, err := registry.AgentConfig("unknown"); err == nil || !strings.Contains(err.Error(), "cannot read the agent of") {
		t.Errorf("with an unreadable manifest: %v", err)
	}
	if _, err := registry.AgentConfig("named"); err != nil {
		t.Errorf("an agent with a file of its own: %v", err)
	}
	if problems := AgentConfigProblems([]Root{{Path: root}}, nil); len(problems) != 4 {
		t.Errorf("problems: %v", problems)
	}
}

// A file precedes the server's defaults. Full access to files includes the network, unless the file restricts it.
func TestAgentConfigOverDefaults(t *testing.T) {
	t.Parallel()
	defaults := TurnPolicy{"workspace-write", "restricted", "on-request", ""}
	const all = "danger-full-access"
	given := AgentConfig{Model: "m", Start: TurnPolicy{FilesystemSandbox: all, Effort: "high"},
		Prepare: TurnPolicy{all, "restricted", "never", ""}}
	want := AgentConfig{Model: "m", Runtime: "codex", Start: TurnPolicy{all, "enabled", "on-request", "high"},
		Prepare: TurnPolicy{all, "restricted", "never", ""}, Instruct: defaults}
	if got := given.OverDefaults("codex", defaults); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got := AgentConfig{Runtime: "claude"}.OverDefaults("codex", TurnPolicy{FilesystemSandbox: all, NetworkAccess: "restricted"})
	if got.Runtime != "claude" || got.Instruct.NetworkAccess != "enabled" {
		t.Errorf("with full access by default it is %+v", got)
	}
}
