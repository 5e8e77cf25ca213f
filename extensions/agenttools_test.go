package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"harness/extensions"
)

// offered holds the tools that agents would get.
type offered struct {
	mu    sync.Mutex
	all   []extensions.Tool
	taken []string // names of the server's own tools
}

func (*offered) Gives(extension string) bool { return extension != "@t/private" }

func (o *offered) Check(all []extensions.Tool) error {
	var names []string
	for _, one := range all {
		if one.Class == "" {
			return fmt.Errorf("tool %q has no class", one.Name)
		}
		if slices.Contains(names, one.Name) || slices.Contains(o.taken, one.Name) {
			return fmt.Errorf("another tool has the name %q", one.Name)
		}
		names = append(names, one.Name)
	}
	return nil
}

func (o *offered) Use(all []extensions.Tool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = all
}

func (o *offered) names() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.all {
		names = append(names, one.Name)
	}
	return names
}

func (o *offered) find(t *testing.T, name string) extensions.Tool {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.all, func(one extensions.Tool) bool { return one.Name == name })
	if at < 0 {
		t.Fatalf("no tool %s", name)
	}
	return o.all[at]
}

func toolIn(name, more string) string {
	return `{"name":"` + name + `","description":"d","class":"read-only"` + more + `}`
}

var someCall = extensions.ToolCall{SessionID: "s", TurnID: "t", Workspace: "/w", Input: json.RawMessage(`{"a":1}`)}

// A manifest declares a tool: its handler gets the input, session and turn of the call, and a result that is not an
// object becomes one. An extension without permission offers no tools, and a diagnostic says so.
func TestToolsOfManifests(t *testing.T) {
	t.Parallel()
	root, agents := folder(t), &offered{}
	declared := `,"capabilities":{"events":[]},"tools":[` + toolIn("team.look", "") + `,` +
		toolIn("team.say", `,"handler":"says","timeoutMs":50`) + `,` + toolIn("team.fail", "") + `,` + toolIn("team.wait", `,"timeoutMs":50`) + `]`
	write(t, root, map[string]string{
		"team/extension.manifest.json":    manifest("team", declared),
		"team/events.js":                  "tool.team.look - - @event\nsays - - \"hello\"\ntool.team.fail - - !not that\ntool.team.wait - - @wait",
		"private/extension.manifest.json": manifest("private", `,"capabilities":{"events":["x"]},"tools":[`+toolIn("own.look", "")+`]`),
		"private/events.js":               "x - - null",
	})
	r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}, AgentTools: agents,
		Trust: extensions.TrustPolicy{Mode: extensions.TrustEnforced}})
	if problems := r.Load(t.Context()); problems != nil {
		t.Fatal(problems)
	}
	if names := agents.names(); !slices.Equal(names, []string{"team.look", "team.say", "team.fail", "team.wait"}) {
		t.Fatalf("agents are given %v", names)
	}
	said := r.List().Modules[0].Diagnostics
	if len(said) != 1 || !strings.Contains(said[0], "HARNESS_TOOLS") {
		t.Errorf("it is said of the other one: %q", said)
	}
	for name, want := range map[string]string{
		"team.look": `{"type":"tool.team.look","payload":{"tool":"team.look","sessionId":"s","turnId":"t","workspace":"/w",` +
			`"input":{"a":1}}}`,
		"team.say":  `{"output":"hello"}`,
		"team.fail": "not that", "team.wait": "timed out after 50ms",
	} {
		got, err := agents.find(t, name).Run(t.Context(), someCall)
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s answered %s (%v), want %s", name, got, err, want)
		}
	}
}

// An extension with an invalid tool is not loaded, and the error names the problem.
func TestToolsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		tools, says string
		code        extensions.LoadCode
	}{
		"no list":    {`{}`, "no list", extensions.InvalidManifest},
		"no class":   {`[{"name":"team.look","description":"d"}]`, "no class", extensions.InvalidManifest},
		"no handler": {`[` + toolIn("team.other", "") + `]`, `"tool.team.other"`, extensions.RegistrationFailed},
		"twice":      {`[` + toolIn("team.look", "") + `,` + toolIn("team.look", "") + `]`, "another tool", extensions.InvalidManifest},
		"the server's": {`[` + toolIn("workspace.read", `,"handler":"tool.team.look"`) + `]`, "another tool",
			extensions.InvalidManifest},
		"time": {`[` + toolIn("team.look", `,"timeoutMs":-1`) + `]`, "timeoutMs", extensions.InvalidManifest},
	} {
		root, host := folder(t), &scriptHost{}
		write(t, root, map[string]string{"team/extension.manifest.json": manifest("team", `,"tools":`+one.tools),
			"team/events.js": "tool.team.look - - {}"})
		r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}},
			Hosts: []extensions.Host{host}, AgentTools: &offered{taken: []string{"workspace.read"}}})
		problems := r.Load(t.Context())
		if len(problems) != 1 || problems[0].Code != one.code || !strings.Contains(problems[0].Message, one.says) {
			t.Errorf("%s: %v", name, problems)
		}
		if host.open.Load() != host.closed.Load() {
			t.Errorf("%s: what was refused is not closed", name)
		}
	}
}

// A reload replaces all tools or none. A call in progress ends in the set in which it started; a call in a replaced set
// is refused and runs nothing.
func TestToolsAreReloadedAllOrNone(t *testing.T) {
	t.Parallel()
	root, agents := folder(t), &offered{}
	put := func(name, tools, code string) {
		write(t, root, map[string]string{name + "/extension.manifest.json": manifest(name, `,"tools":[`+tools+`]`),
			name + "/events.js": code})
	}
	put("a", toolIn("a.wait", "")+`,`+toolIn("a.look", ""), "tool.a.wait - - @wait\ntool.a.look - - {\"set\":1}")
	put("b", toolIn("b.look", ""), "tool.b.look - - {\"set\":1}")
	host := &scriptHost{waiting: make(chan struct{}, 1)}
	r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}},
		Hosts: []extensions.Host{host}, AgentTools: agents})
	if problems := r.Load(t.Context()); problems != nil {
		t.Fatal(problems)
	}
	before := agents.names()

	put("a", toolIn("a.other", ""), "tool.a.other - - {\"set\":2}")
	put("b", toolIn("a.other", ""), "tool.a.other - - {\"set\":2}") // the same name
	if result := r.Reload(t.Context(), ""); result.Code != extensions.ReloadFailed || !slices.Equal(agents.names(), before) {
		t.Fatalf("%s, and agents are given %v", result.Code, agents.names())
	}
	first := agents.find(t, "b.look")
	if out, err := first.Run(t.Context(), someCall); err != nil || string(out) != `{"set":1}` {
		t.Errorf("after a reload that failed it answers %s (%v)", out, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	waits := agents.find(t, "a.wait")
	go func() {
		_, err := waits.Run(ctx, someCall)
		ended <- err
	}()
	<-host.waiting // the call is in progress
	put("b", toolIn("b.look", ""), "tool.b.look - - {\"set\":2}")
	if result := r.Reload(t.Context(), ""); result.Code != extensions.Reloaded {
		t.Fatal(result.Errors)
	}
	if names := agents.names(); !slices.Equal(names, []string{"a.other", "b.look"}) {
		t.Errorf("agents are given %v", names)
	}
	if out, err := agents.find(t, "b.look").Run(t.Context(), someCall); err != nil || string(out) != `{"set":2}` {
		t.Errorf("it answers %s (%v)", out, err)
	}
	if out, err := first.Run(t.Context(), someCall); err == nil || !strings.Contains(err.Error(), "reloaded") {
		t.Errorf("a call of the set before answered %s (%v)", out, err)
	}
	select {
	case err := <-ended:
		t.Errorf("the call under way ended with the reload: %v", err)
	default:
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call under way ended with %v", err)
	}
	if err := r.Close(t.Context()); err != nil || len(agents.names()) != 0 {
		t.Errorf("after the end agents are given %v (%v)", agents.names(), err)
	}
}
