package extensions_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"harness/extensions"
	"harness/extensions/sdk"
)

// In trust mode enforced, tools have the scope of actions: the project and session of the event. An event without a
// session limits nothing. In the other modes tools reach everything, like codex-manager's.
func TestToolsStayInTheirScope(t *testing.T) {
	t.Parallel()
	from := func(session string) *string { return &session }
	calls := map[string]sdk.Handler{}
	enqueue := func(name, project string, session *string) {
		calls[name] = func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
			return tools.EnqueueJob(ctx, sdk.EnqueueInput{Type: "t", ProjectID: project, SourceSessionID: session,
				Payload: json.RawMessage(`{}`)})
		}
	}
	enqueue("own job", "p", from("s"))
	enqueue("own job without session", "p", nil)
	enqueue("job of another project", "q", nil)
	enqueue("job of another session", "p", from("z"))
	enqueue("job of a chat", "session:s", from("s"))
	calls["own settings"] = func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
		return tools.SessionSettings(ctx, "s")
	}
	calls["settings of another"] = func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
		return tools.SessionSettings(ctx, "z")
	}
	calls["setting of another"] = func(ctx context.Context, _ sdk.Event, tools sdk.Tools) (any, error) {
		return tools.SessionSetting(ctx, "z", "a")
	}
	native := sdk.Extension{ModuleName: "n", Events: []string{"*"}, Actions: []string{"*"},
		Register: func(on *sdk.Registry) {
			for name, handler := range calls {
				on.On(name, handler)
			}
		}}
	inProject, chat, none := extensions.Scope{ProjectID: "p", SessionID: "s"}, extensions.Scope{
		SessionID: "s"}, extensions.Scope{}
	for mode, cases := range map[extensions.TrustMode][]struct {
		scope   extensions.Scope
		refused string
	}{
		extensions.TrustEnforced: {
			{inProject, "job of a chat,job of another project,job of another session,setting of another,settings of another"},
			{chat, "job of another project,job of another session,own job,own job without session,setting of another,settings of another"},
			{none, ""},
		},
		extensions.TrustWarn:     {{inProject, ""}},
		extensions.TrustDisabled: {{inProject, ""}},
	} {
		r := registry(t, extensions.Options{Native: []sdk.Extension{native}, Trust: extensions.TrustPolicy{Mode: mode}, Jobs: jobs{},
			Settings: settings{"s": {}, "z": {}}})
		if problems := r.Load(t.Context()); len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, c := range cases {
			for name := range calls {
				results := r.Emit(t.Context(), &extensions.Event{Type: name}, c.scope)
				if len(results) != 1 {
					t.Fatalf("%s: %+v", name, results)
				}
				want := strings.Contains(","+c.refused+",", ","+name+",")
				if got := strings.HasPrefix(results[0].Error, "scope_mismatch: the event is about "); got != want || !want &&
					results[0].Error != "" {
					t.Errorf("%s, %+v, %s: %+v", mode, c.scope, name, results[0])
				}
			}
		}
	}
}
