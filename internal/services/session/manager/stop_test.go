package manager

import (
	"errors"
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Stopping a session interrupts its turn and publishes the stop. When the turn has ended, the runtime unloads the
// conversation. A second stop does no harm, and a message continues the session.
func TestASessionIsStopped(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.stopSession(s.ID)
		k.stopSession(s.ID)
		k.fake.mu.Lock()
		interrupted, closed := slices.Clone(k.fake.interrupts), slices.Clone(k.fake.closed)
		k.fake.mu.Unlock()
		if !slices.Equal(interrupted, []string{turnID}) || !slices.Equal(closed, []string{s.ID, s.ID}) {
			t.Errorf("interrupted %v, closed %v", interrupted, closed)
		}
		if ended := k.turn(s.ID, turnID); ended.Status != runtime.TurnInterrupted {
			t.Errorf("its turn is %+v", ended)
		}
		if published := len(k.events(session.EventStopped)); published != 2 {
			t.Errorf("published %d times", published)
		}
		if again := k.send(s.ID); again == turnID || k.turn(s.ID, again).Status != runtime.TurnInProgress {
			t.Errorf("the next message is turn %s", again)
		}
		if _, err := k.StopSession(t.Context(), "unknown", false); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("an unknown session: %v", err)
		}
	})
}

func (k *kit) stopSession(id string) session.Stopped {
	k.t.Helper()
	stopped, err := k.StopSession(k.t.Context(), id, false)
	k.do(err)
	return stopped
}

// A queued message becomes the next turn of a stopped session. It starts after the stop is published, and that stop
// does not end it.
func TestAStoppedSessionGoesOnWithWhatWaits(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		queued, err := k.Submit(t.Context(), s.ID, session.Message{Text: "later"})
		k.do(err)
		if stopped := k.stopSession(s.ID); stopped.TurnID != turn || queued.Position != 1 {
			t.Errorf("of %s with %+v behind it %+v was stopped", turn, queued, stopped)
		}
		k.awaitWaiting(s.ID, 0)
		next := k.ActiveTurn(s.ID)
		if next == "" || next == turn || k.turn(s.ID, next).Status != runtime.TurnInProgress {
			t.Errorf("after the stop %q runs", next)
		}
		stop, sent := k.events(session.EventStopped), k.events(session.EventMessageSent)
		if len(stop) != 1 || len(sent) != 2 || sent[1].Pos < stop[0].Pos {
			t.Errorf("stopped are %+v, sent %+v", stop, sent)
		}
		_, err = k.Submit(t.Context(), s.ID, session.Message{Text: "last"})
		k.do(err)
		_, err = k.StopTurn(t.Context(), s.ID, next, false)
		k.do(err)
		k.awaitWaiting(s.ID, 0)
		if last := k.ActiveTurn(s.ID); last == "" || last == next {
			t.Errorf("after the stop of %s %q runs", next, last)
		}
	})
}
