package manager

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/outbox"
	"harness/internal/services/session/store"
	"harness/tests/dbtest"
)

// awaitTurns waits until the runtime has received a number of turns, and returns their messages.
func (k *kit) awaitTurns(n int) (said []string) {
	k.t.Helper()
	k.eventually(fmt.Sprintf("turn %d", n), func() bool {
		turns, _ := k.fake.seen()
		said = nil
		for _, one := range turns {
			said = append(said, string(one.Input[0]))
		}
		return len(said) >= n
	})
	return said
}

// awaitWaiting waits until the queue has this many messages.
func (k *kit) awaitWaiting(sessionID string, n int) (now []session.QueuedMessage) {
	k.t.Helper()
	k.eventually(fmt.Sprintf("a queue of %d", n), func() bool {
		var err error
		now, err = k.Queued(k.t.Context(), sessionID)
		k.do(err)
		return len(now) == n
	})
	return now
}

// Queued messages wait for the running turn, and are sent one by one in order, as edited, each once.
func TestWaitingMessages(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		var ids []string
		for _, text := range []string{"one", "two", "three", "four"} {
			id, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: text})
			k.do(err)
			ids = append(ids, id)
		}
		_, err := k.MoveQueued(t.Context(), s.ID, ids[2], ids[0])
		k.do(err)
		_, err = k.EditQueued(t.Context(), s.ID, ids[0], "uno")
		k.do(err)
		now, err := k.DropQueued(t.Context(), s.ID, ids[1])
		k.do(err)
		if len(now) != 3 || now[0].Text != "three" || now[1].Text != "uno" || now[2].Text != "four" {
			t.Fatalf("waiting are %+v", now)
		}
		if _, err := k.DropQueued(t.Context(), s.ID, ids[1]); !errors.Is(err, session.ErrQueuedNotFound) {
			t.Errorf("dropped twice: %v", err)
		}
		for n, text := range []string{"three", "uno", "four"} {
			k.end(s.ID, turn)
			said := k.awaitTurns(n + 2)
			if want := `{"type":"text","text":"` + text + `"}`; said[n+1] != want {
				t.Errorf("then it received %s, want %s", said[n+1], want)
			}
			k.awaitWaiting(s.ID, 2-n)
			turn = k.ActiveTurn(s.ID)
		}
		if frames := len(k.events(outbox.EventQueue)); frames != 7+6 {
			t.Errorf("%d frames of the queue", frames)
		}
	})
}

// A message that a server was sending when it died is neither sent twice nor lost.
func TestWaitingMessagesSurvive(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, other := k.create(), k.create()
		turn := k.send(s.ID)
		k.end(s.ID, turn)
		k.flush()
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			for id, mark := range map[string]string{s.ID: `{"turns":0,"newest":""}`, other.ID: `{"turns":0,"newest":""}`} {
				_, err := tx.ExecContext(t.Context(), `insert into queued_messages (`+store.QueuedColumns+`)
					values ($1, $2, 1, '{"text":"hi"}', 'sending', $3, '', 1, null)`, ids.New(), id, mark)
				if err != nil {
					return err
				}
			}
			return nil
		}))
		again := k.reopenKnown()
		again.awaitWaiting(s.ID, 0)     // its turn is stored
		again.awaitWaiting(other.ID, 0) // it had no turn, and is sent now
		turns, _ := again.fake.seen()
		if len(turns) != 1 || turns[0].ThreadID != other.ID {
			t.Errorf("after the restart it received %+v", turns)
		}
	})
}

// A message that arrives before the outcome of a queued one is known is not mistaken for it.
func TestAMessageIsNotTakenForAWaitingOne(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into queued_messages (`+store.QueuedColumns+`)
				values ($1, $2, 1, '{"text":"waits"}', 'sending', '{"turns":0,"newest":""}', '', 1, null)`, ids.New(), s.ID)
			return err
		}))
		turn := k.send(s.ID)
		k.WakeQueue()
		k.end(s.ID, turn)
		if said := k.awaitTurns(2); said[1] != `{"type":"text","text":"waits"}` {
			t.Errorf("then it received %s", said[1])
		}
		k.awaitWaiting(s.ID, 0)
	})
}

// awaitHeld waits until the first queued message is held, with a reason.
func (k *kit) awaitHeld(sessionID string) {
	k.t.Helper()
	k.eventually("that the first waiting message is held", func() bool {
		now, err := k.Queued(k.t.Context(), sessionID)
		k.do(err)
		return len(now) > 0 && now[0].State == session.QueuedHeld && now[0].Error != ""
	})
}

// A queued message is sent with the pictures that it names. If they are no longer readable, the message is held with
// the reason until a user changes it.
func TestWaitingMessagesBringTheirPictures(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := openWith(t, db, "node", func(o *Options) {
			o.Pictures = func(_ context.Context, sessionID string, images []string) ([]string, error) {
				if images[0] != "upload:1" {
					return nil, errors.New(images[0] + " is lost")
				}
				return []string{"data:of " + sessionID}, nil
			}
		})
		s := k.create()
		turn := k.send(s.ID)
		_, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: "look", Images: []string{"upload:1"}})
		k.do(err)
		_, now, err := k.Wait(t.Context(), s.ID, session.Message{Text: "and there", Images: []string{"upload:2"}})
		k.do(err)
		k.end(s.ID, turn)
		k.awaitTurns(2)
		turns, _ := k.fake.seen()
		if got, want := string(turns[1].Input[1]), `{"type":"image","url":"data:of `+s.ID+`"}`; got != want {
			t.Errorf("it received %s, want %s", got, want)
		}
		k.awaitWaiting(s.ID, 1)
		k.end(s.ID, k.ActiveTurn(s.ID))
		k.awaitHeld(s.ID)
		held, err := k.Queued(t.Context(), s.ID)
		k.do(err)
		if held[0].ID != now[1].ID || held[0].Error != "upload:2 is lost" {
			t.Errorf("held is %+v", held[0])
		}
	})
}
