package claude_test

import (
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// A stop also cancels the messages that the agent has received but not started, in any state of the turn.
func TestStopCancelsQueuedSteering(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	for name, begin := range map[string]func() string{
		"while the model answers": func() string {
			turn := s.say(runtimetest.Text("MOCK_HOLD[answer]"))
			if err := s.AwaitHeld(t.Context(), "answer"); err != nil {
				t.Fatal(err)
			}
			return turn
		},
		"while a command runs": func() string {
			turn := s.say(runtimetest.Text("MOCK_CMD[touch runs; tail -f /dev/null]"))
			s.await("runs")
			return turn
		},
	} {
		turn := begin()
		for _, text := range []string{"MOCK_CMD[touch steered]", "MOCK_CMD[touch steered] too"} {
			steered, err := s.StartTurn(t.Context(),
				runtime.StartTurn{ThreadID: s.thread, ActiveTurnID: turn, Input: runtimetest.Text(text)})
			if err != nil || !steered.Steered || steered.TurnID != turn {
				t.Fatalf("%s: the message became %+v, %v", name, steered, err)
			}
		}
		if err := s.InterruptTurn(t.Context(), s.thread, turn); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if end := s.End(t, turn); end.Status != runtime.TurnInterrupted {
			t.Errorf("%s: the turn ended %+v", name, end)
		}
		if end, _ := s.turn("MOCK_REPLY[on]"); end.Status != runtime.TurnDone {
			t.Errorf("%s: the turn after it ended %+v", name, end)
		}
	}
	if s.made("steered") || slices.ContainsFunc(s.model.Requests(), func(r mockmodel.Request) bool {
		return strings.Contains(string(r.Body), "touch steered")
	}) {
		t.Error("a canceled message reached the model")
	}
}
