package manager

import (
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
)

// If a runtime process is replaced and its end was never reported, its turns end. They end in the rows and in the live
// index.
func TestAReplacedProcessTakesItsTurnsWithIt(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		first := k.send(s.ID)
		k.fake.started(ids.New())
		if turn := k.turn(s.ID, first); turn.Status != runtime.TurnInterrupted {
			t.Errorf("the turn is %s", turn.Status)
		}
		if active := k.ActiveTurn(s.ID); active != "" {
			t.Errorf("turn %s still runs as far as the view knows", active)
		}
		// The next message starts a new turn: there is no turn to steer it into.
		second := k.send(s.ID)
		if turns, _ := k.fake.seen(); second == first || turns[1].ActiveTurnID != "" {
			t.Errorf("turn %s, steered into %q", second, turns[1].ActiveTurnID)
		}
		if turn := k.turn(s.ID, second); turn.Status != runtime.TurnInProgress {
			t.Errorf("the next turn is %s", turn.Status)
		}
	})
}
