package manager_test

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

// A session of an agent that is not codex asks, receives answers and remembers like a codex session.
func TestTheScriptedAgentHasItsSessions(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		confined := "read-only"
		var control *runtime.ControlError
		if _, err := s.Create(t.Context(), session.Create{FilesystemSandbox: &confined}); !errors.As(err, &control) {
			t.Errorf("a session it cannot confine: %v", err)
		}
		id, file := s.NewSession(), s.Path("made")
		turn := s.Say(id, "RUN[touch "+file+"]")
		asked := s.Asked(id)
		if _, err := os.Stat(file); err == nil {
			t.Error("the command ran before it was allowed")
		}
		if asked.TurnID != turn || asked.Kind != runtime.RequestApproval || asked.Asked.Subject != runtime.SubjectCommand {
			t.Errorf("asked %+v", asked)
		}
		if _, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval,
			runtime.Reply{Decision: "accept", Scope: "turn"}, "user"); err != nil {
			t.Fatal(err)
		}
		if state := s.Ended(id, turn); state.Status != runtime.TurnDone {
			t.Errorf("the turn ended %+v", state)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		detail, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, entry := range detail.Transcript {
			entries = append(entries, entry.Role+" "+entry.Type)
		}
		if want := []string{"user userMessage", "system commandExecution", "system approval.resolved",
			"assistant agentMessage"}; !slices.Equal(entries, want) {
			t.Errorf("its transcript is %q", entries)
		}
		if detail.Session.Runtime != scripted.Name {
			t.Errorf("it is of %q", detail.Session.Runtime)
		}
	})
}

// A process that dies ends only its own turn. Its session continues in another process.
func TestTheScriptedAgentIsKilled(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		hit, spared := s.NewSession(), s.NewSession()
		dies, goesOn := s.Say(hit, "HOLD[hit]"), s.Say(spared, "HOLD[spared]")
		for _, name := range []string{"hit", "spared"} {
			if err := s.Agent.AwaitHeld(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		for _, process := range s.Runtime.Status().Processes {
			if process.Serves == hit {
				if err := syscall.Kill(process.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if state := s.Ended(hit, dies); state.Status != runtime.TurnInterrupted {
			t.Errorf("the turn of the process that died ended %+v", state)
		}
		if err := s.Agent.Release("spared"); err != nil {
			t.Fatal(err)
		}
		if state := s.Ended(spared, goesOn); state.Status != runtime.TurnDone {
			t.Errorf("the other turn ended %+v", state)
		}
		if state := s.Ended(hit, s.Say(hit, "REPLY[back]")); state.Status != runtime.TurnDone {
			t.Errorf("the turn after it ended %+v", state)
		}
	})
}

// A stopped session has no process, and the next message starts one.
func TestAStoppedSessionHasNoProcess(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		id := s.NewSession()
		turn := s.Say(id, "HOLD[stopped]")
		if err := s.Agent.AwaitHeld(t.Context(), "stopped"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.StopSession(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		if state := s.Ended(id, turn); state.Status != runtime.TurnInterrupted {
			t.Errorf("its turn ended %+v", state)
		}
		if left := s.Runtime.Status().Processes; len(left) != 0 {
			t.Errorf("processes %+v", left)
		}
		if state := s.Ended(id, s.Say(id, "REPLY[again]")); state.Status != runtime.TurnDone {
			t.Errorf("the next turn ended %+v", state)
		}
	})
}
