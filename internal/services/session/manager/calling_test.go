package manager

import (
	"testing"

	"harness/internal/runtime"
)

// A tool call that a runtime makes before it reports its turn belongs to that turn.
func TestACallComesBeforeItsTurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		if turn := k.CallingTurn(t.Context(), s.ID); turn != "" {
			t.Errorf("without a message a call is of turn %s", turn)
		}
		called := make(chan string, 1)
		k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			go func() { called <- k.CallingTurn(t.Context(), in.ThreadID) }()
			k.eventually("the call waits", func() bool { return k.locks.Users()[s.ID] == 2 || len(called) == 1 })
			k.fake.begin(in.ThreadID, turnID)
			return runtime.StartedTurn{TurnID: turnID}, nil
		}
		if sent, turn := k.send(s.ID), <-called; turn != sent {
			t.Errorf("the call is of turn %q, want %q", turn, sent)
		}
	})
}
