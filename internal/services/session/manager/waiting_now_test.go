package manager

import (
	"errors"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// A queued message is steered into the running turn, even from behind a held one.
func TestAWaitingMessageIsSteered(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		var ids []string
		for _, text := range []string{"one", "two"} {
			id, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: text})
			k.do(err)
			ids = append(ids, id)
		}
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update queued_messages set state = 'held', error = 'why'`)
			return err
		}))
		now, err := k.SendNow(t.Context(), s.ID, ids[1])
		k.do(err)
		if len(now) != 1 || now[0].ID != ids[0] || now[0].State != session.QueuedHeld {
			t.Errorf("then wait %+v", now)
		}
		turns, _ := k.fake.seen()
		if len(turns) != 2 || turns[1].ActiveTurnID != turn || string(turns[1].Input[0]) != `{"type":"text","text":"two"}` {
			t.Errorf("it received %+v", turns)
		}
		if _, err := k.SendNow(t.Context(), s.ID, ids[1]); !errors.Is(err, session.ErrQueuedNotFound) {
			t.Errorf("sent twice: %v", err)
		}
		k.end(s.ID, turn)
		if now, err = k.SendNow(t.Context(), s.ID, ids[0]); err != nil || now[0].State == session.QueuedHeld {
			t.Errorf("sent when idle: %+v %v", now, err)
		}
		k.awaitWaiting(s.ID, 0)
		if said := k.awaitTurns(3); said[2] != `{"type":"text","text":"one"}` {
			t.Errorf("then it received %s", said[2])
		}
	})
}

// If the runtime does not steer, a queued message interrupts the running turn and becomes the next one.
func TestAWaitingMessageInterrupts(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		var ids []string
		for _, text := range []string{"one", "two"} {
			id, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: text})
			k.do(err)
			ids = append(ids, id)
		}
		_, err := k.SendNow(t.Context(), s.ID, ids[1])
		k.do(err)
		if said := k.awaitTurns(2); said[1] != `{"type":"text","text":"two"}` {
			t.Errorf("then it received %s", said[1])
		}
		k.fake.mu.Lock()
		stopped := append([]string{}, k.fake.interrupts...)
		k.fake.mu.Unlock()
		if len(stopped) != 1 || stopped[0] != turn {
			t.Errorf("interrupted were %q, want %s", stopped, turn)
		}
		if now := k.awaitWaiting(s.ID, 1); now[0].ID != ids[0] {
			t.Errorf("then wait %+v", now)
		}
	})
}

// A message that the runtime refuses to steer is held. A message with an unknown outcome is held as well.
func TestAWaitingMessageThatCannotBeSteeredIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		failure error
	}{
		"refused": {&runtime.Error{Message: "not now"}},
		"unknown": {runtime.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				s := k.create()
				k.send(s.ID)
				id, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: "one"})
				k.do(err)
				k.fake.mu.Lock()
				k.fake.onTurn = func(runtime.StartTurn, string) (runtime.StartedTurn, error) {
					return runtime.StartedTurn{}, c.failure
				}
				k.fake.mu.Unlock()
				if _, err := k.SendNow(t.Context(), s.ID, id); !errors.Is(err, c.failure) {
					t.Fatalf("it failed with %v", err)
				}
				k.awaitHeld(s.ID)
				if turns, _ := k.fake.seen(); len(turns) != 2 {
					t.Errorf("it received it %d times", len(turns)-1)
				}
			})
		})
	}
}
