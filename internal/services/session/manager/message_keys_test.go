package manager

import (
	"errors"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/retention"
	"harness/internal/services/session/store"
)

// sendKeyed sends a message with a key.
func (k *kit) sendKeyed(sessionID, key string) (string, error) {
	k.t.Helper()
	return turnOf(k.Send(k.t.Context(), sessionID, session.Message{Text: "keyed", Key: key}))
}

// breakOff makes the runtime leave messages unanswered, as if the server died while sending them. began says whether
// the runtime starts their turns anyway.
func (k *kit) breakOff(began bool) {
	k.fake.mu.Lock()
	defer k.fake.mu.Unlock()
	k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
		if began {
			k.fake.begin(in.ThreadID, turnID)
		}
		return runtime.StartedTurn{}, runtime.ErrUnavailable
	}
}

// made returns the result of a message with a key.
func (k *kit) made(sessionID, key string) string {
	k.t.Helper()
	made, err := k.TurnForKey(k.t.Context(), sessionID, key)
	k.do(err)
	return made
}

// The result of a message with a key is stored with its turn, steered or not, or with the queue. The next server also
// finds it, for a day. Nothing of it remains when the session is deleted.
func TestWhatAMessageWithAKeyMade(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		if made := k.made(s.ID, "a"); made != "" {
			t.Fatalf("before it came it made %q", made)
		}
		turn, err := k.sendKeyed(s.ID, "a")
		k.do(err)
		steered, err := k.sendKeyed(s.ID, "b")
		k.do(err)
		waits, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: "later", Key: "c"})
		k.do(err)
		k = k.reopenKnown()
		a, b, c := k.made(s.ID, "a"), k.made(s.ID, "b"), k.made(s.ID, "c")
		sent := strings.HasPrefix(c, "turn-") && c != turn // the next server may have sent the queued message
		if a != turn || b != steered || c != waits && !sent || b != a {
			t.Errorf("they made %q, %q and %q, want %q, %q and %q", a, b, c, turn, steered, waits)
		}
		for _, send := range []func() error{
			func() error { _, err := k.sendKeyed(s.ID, "a"); return err },
			func() error {
				_, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: "later", Key: "c"})
				return err
			},
		} {
			if err := send(); !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("sent again without having asked: %v", err)
			}
		}
		k.ahead.Store(int64(25 * time.Hour))
		if made := k.made(s.ID, "a"); made != "" {
			t.Errorf("a day later it has made %q", made)
		}
		rows := func() (n int) {
			k.do(k.db.Read().QueryRowContext(t.Context(), `select count(*) from message_keys`).Scan(&n))
			return n
		}
		if _, err := k.sendKeyed(s.ID, "a"); err != nil {
			t.Errorf("a day later the key is refused: %v", err)
		}
		k.prune(retention.Policy{})
		if n := rows(); n != 1 {
			t.Errorf("%d keys are kept, want the new one", n)
		}
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		if n := rows(); n != 0 {
			t.Errorf("%d keys of a deleted session are kept", n)
		}
	})
}

// A server dies while it sends a message with a key. The next one finds the turn that started, or finds that none did;
// then the message may be sent again.
func TestAMessageWithAKeyIsFoundOut(t *testing.T) {
	for name, began := range map[string]bool{"began": true, "not begun": false} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				s := k.create()
				k.end(s.ID, k.send(s.ID))
				k.breakOff(began)
				if _, err := k.sendKeyed(s.ID, "a"); !errors.Is(err, runtime.ErrUnavailable) {
					t.Fatalf("it failed with %v", err)
				}
				k.flush()
				k = k.reopenKnown()
				want := map[bool]string{true: "turn-2"}[began]
				for range 2 {
					if made := k.made(s.ID, "a"); made != want {
						t.Fatalf("it made %q, want %q", made, want)
					}
				}
				if began {
					return
				}
				turn, err := k.sendKeyed(s.ID, "a")
				k.do(err)
				if made := k.made(s.ID, "a"); made != turn {
					t.Errorf("sent again it made %q, want %q", made, turn)
				}
			})
		})
	}
}

// The result of such a message is resolved before the next message is sent. Otherwise the next message's turn could be
// mistaken for it.
func TestAMessageIsNotTakenForOneWithAKey(t *testing.T) {
	for name, began := range map[string]bool{"began": true, "not begun": false} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				s := k.create()
				k.breakOff(began)
				if _, err := k.sendKeyed(s.ID, "a"); !errors.Is(err, runtime.ErrUnavailable) {
					t.Fatalf("it failed with %v", err)
				}
				k = k.reopenKnown()
				k.end(s.ID, k.send(s.ID))
				if made, want := k.made(s.ID, "a"), map[bool]string{true: "turn-1"}[began]; made != want {
					t.Errorf("it made %q, want %q", made, want)
				}
			})
		})
	}
}

// The server cannot know whether a message was steered into a turn, or which of several turns it started. It cannot
// know either whether a former owner's runtime accepted a message. It does not send the message again, and the message
// blocks no other.
func TestAMessageWithAKeyThatCannotBeFoundOut(t *testing.T) {
	for _, name := range []string{"steered", "several turns", "another owner"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				s := k.create()
				if name == "steered" {
					k.send(s.ID)
				}
				k.breakOff(false)
				if _, err := k.sendKeyed(s.ID, "a"); !errors.Is(err, runtime.ErrUnavailable) {
					t.Fatalf("it failed with %v", err)
				}
				switch name {
				case "several turns":
					for _, turn := range []string{"x-1", "x-2"} {
						k.fake.begin(s.ID, turn)
						k.end(s.ID, turn)
					}
				case "another owner":
					k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
						return store.UpdateSession(t.Context(), tx, s.ID, `epoch = epoch + 1`)
					}))
				}
				k = k.reopenKnown()
				for range 2 {
					if _, err := k.TurnForKey(t.Context(), s.ID, "a"); !errors.Is(err, session.ErrTurnUnknown) {
						t.Fatalf("the turn of the message: %v", err)
					}
				}
				k.send(s.ID)
			})
		})
	}
}

// A message that the runtime refused has no result, and nothing to resolve.
func TestAMessageWithAKeyThatWasRefused(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.mu.Lock()
		k.fake.onTurn = func(runtime.StartTurn, string) (runtime.StartedTurn, error) {
			return runtime.StartedTurn{}, &runtime.Error{Message: "no"}
		}
		k.fake.mu.Unlock()
		if _, err := k.sendKeyed(s.ID, "a"); err == nil {
			t.Fatal("it was not refused")
		}
		if open, err := k.Unsettled(t.Context(), s.ID); err != nil || len(open) > 0 {
			t.Errorf("%d are to be found out, %v", len(open), err)
		}
	})
}
