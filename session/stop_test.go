package session

import (
	"errors"
	"slices"
	"testing"

	"harness/runtime"
)

// To stop a session interrupts its turn, gives back what its runtime keeps of the conversation when the turn has ended,
// and is told; again it does no harm, and a message goes on with the session.
func TestASessionIsStopped(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.do(k.StopSession(t.Context(), s.ID))
		k.do(k.StopSession(t.Context(), s.ID))
		k.fake.mu.Lock()
		interrupted, closed := slices.Clone(k.fake.interrupts), slices.Clone(k.fake.closed)
		k.fake.mu.Unlock()
		if !slices.Equal(interrupted, []string{turnID}) || !slices.Equal(closed, []string{s.ID, s.ID}) {
			t.Errorf("interrupted %v, closed %v", interrupted, closed)
		}
		if ended := k.turn(s.ID, turnID); ended.status != runtime.TurnInterrupted {
			t.Errorf("its turn is %+v", ended)
		}
		if told := len(k.events(EventStopped)); told != 2 {
			t.Errorf("told %d times", told)
		}
		if again := k.send(s.ID); again == turnID || k.turn(s.ID, again).status != runtime.TurnInProgress {
			t.Errorf("the next message is turn %s", again)
		}
		if err := k.StopSession(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
			t.Errorf("an unknown session: %v", err)
		}
	})
}
