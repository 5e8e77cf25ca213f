package acp_test

import (
	"errors"
	"sync"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/stdio"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// refuser is a store that declines every request.
type refuser struct {
	*runtimetest.Store
	t        *testing.T
	agent    *runtimetest.Agent
	answered sync.WaitGroup
}

func (r *refuser) Sink(batch runtime.Batch) {
	r.Store.Sink(batch)
	for _, signal := range batch.Signals {
		if _, is := signal.Change.(runtime.InteractiveRequested); is {
			r.answered.Go(func() {
				if err := r.agent.Answer(r.t.Context(), runtimetest.Ref(signal), runtime.Reply{Decision: "decline"}); err != nil {
					r.t.Errorf("decline %s: %v", signal.Params, err)
				}
			})
		}
	}
}

// reaches checks the reach of an agent with each approval policy; a user declines every request.
func reaches(t *testing.T, made func(*testing.T, *mockmodel.Server, bool) *site, reach map[string]runtimetest.Reach) {
	t.Helper()
	person := &refuser{Store: runtimetest.NewStore(), t: t}
	model := mockmodel.Start(t)
	s := made(t, model, false)
	t.Cleanup(person.answered.Wait)
	person.agent = s.start(t, person)
	for policy, want := range reach {
		ground := runtimetest.NewGround(t, t.TempDir())
		thread, err := person.agent.StartThread(t.Context(), runtime.StartThread{Cwd: ground.Dir, ApprovalPolicy: policy,
			Sandbox: "danger-full-access", NetworkAccess: "enabled"})
		if err != nil {
			t.Fatal(err)
		}
		// A refusal ends the turn of some of them.
		for _, try := range ground.Each(script().Command, func(file string) string { return "MOCK_PATCH[" + file + "]" }) {
			turn, err := person.agent.StartTurn(t.Context(),
				runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text(try)})
			if err != nil {
				t.Fatal(err)
			}
			person.End(t, turn.TurnID)
		}
		if got := ground.Reached(); got != want {
			t.Errorf("%s: it could %+v, promised is %+v; the model received %v", policy, got, want, model.Outputs())
		}
	}
}

// TestNothingIsConfined: each agent of the protocol opens with the one level that promises nothing, and has all
// rights of its user. If it requests approval first, it does only what the user allows. The adapter refuses any other
// level before it uses the agent.
func TestNothingIsConfined(t *testing.T) {
	t.Parallel()
	keeps := runtimetest.Everything()
	keeps.OutsideFile = false // Gemini's own tool stays in the folder, a command does not
	for name, one := range map[string]struct {
		site  func(*testing.T, *mockmodel.Server, bool) *site
		reach map[string]runtimetest.Reach // by approval policy
	}{
		"gemini": {func(t *testing.T, model *mockmodel.Server, shims bool) *site {
			s := newSite(t, model, acp.Gemini(), shims, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+model.Root())
			s.options.Bin = agenttest.Binary(t, "gemini")
			return s
		}, map[string]runtimetest.Reach{"never": keeps, "on-request": {}, "untrusted": {}}},
		"claude-acp": {claudeBridge, map[string]runtimetest.Reach{"on-request": {}, "untrusted": {}}},
		"codex-acp": {codexBridge, map[string]runtimetest.Reach{"never": runtimetest.Everything(),
			"on-request": {Command: true, File: true}, "untrusted": {}}}, // its modes are sandboxes, too
		"opencode-acp": {openCode, map[string]runtimetest.Reach{"on-request": {}, "untrusted": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reaches(t, one.site, one.reach)
		})
	}
	for _, profile := range acp.Shipped() {
		for _, levels := range []runtime.StartThread{{Sandbox: "read-only"}, {Sandbox: "workspace-write"},
			{NetworkAccess: "restricted"}} {
			var refused *runtime.ControlError
			if _, err := acp.New(acp.Options{Profile: profile, Setup: stdio.Setup{}}).StartThread(t.Context(),
				levels); !errors.As(err, &refused) {
				t.Errorf("%s takes %+v: %v", profile.Name, levels, err)
			}
		}
	}
}
