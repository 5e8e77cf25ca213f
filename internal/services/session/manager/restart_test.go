package manager

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// gone returns the error of a call whose process has just ended.
func gone() error { return fmt.Errorf("%w: the test ended it", runtime.ErrProcessGone) }

// A message sent while a process ends goes to the next process, and starts one turn.
func TestAMessageBesideTheDeathOfAnAgent(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.fake.started(ids.New())
		s, calls := k.create(), 0
		k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			if calls++; calls > 1 {
				return runtime.StartedTurn{TurnID: turnID}, nil
			}
			go func() {
				k.fake.exited()
				k.fake.started(ids.New())
			}()
			return runtime.StartedTurn{}, gone()
		}
		if turn := k.send(s.ID); k.turn(s.ID, turn).Status != runtime.TurnInProgress || calls != 2 {
			t.Errorf("after %d calls the turn is %+v", calls, k.turn(s.ID, turn))
		}
	})
}

// A message whose turn had started when the process ended is not sent again: that turn is its result.
func TestAMessageThatBeganATurnBeforeTheDeathOfItsAgent(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.fake.started(ids.New())
		s, calls := k.create(), 0
		k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			calls++
			k.fake.begin(in.ThreadID, turnID)
			k.fake.exited()
			return runtime.StartedTurn{}, gone()
		}
		if turn := k.send(s.ID); k.turn(s.ID, turn).Status != runtime.TurnInterrupted || calls != 1 {
			t.Errorf("after %d calls the turn is %+v", calls, k.turn(s.ID, turn))
		}
	})
}

// If no other process starts, the message is refused with a temporary error.
func TestAMessageToAnAgentThatStaysDead(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.restartPatience = 3 * restartPause
		k.fake.started(ids.New())
		s := k.create()
		k.fake.onTurn = func(runtime.StartTurn, string) (runtime.StartedTurn, error) { return runtime.StartedTurn{}, gone() }
		k.fake.exited()
		k.fake.mu.Lock()
		k.fake.down = false // a call reaches the adapter, which reports that the process has ended
		k.fake.mu.Unlock()
		began := time.Now()
		if _, err := k.Send(t.Context(), s.ID, session.Message{Text: "hi"}); !errors.Is(err, runtime.ErrProcessGone) ||
			time.Since(began) < k.restartPatience {
			t.Errorf("it was refused with %v after %s", err, time.Since(began))
		}
	})
}
