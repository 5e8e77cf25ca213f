package manager

import (
	"context"
	"errors"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

// eachLimited runs a test on both engines with a runtime that has limits.
func eachLimited(t *testing.T, limits session.RuntimeLimits, test func(t *testing.T, k *kit)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) { test(t, openLimited(t, db, limits)) })
}

func openLimited(t *testing.T, db *database.DB, limits session.RuntimeLimits, surviving ...string) *kit {
	t.Helper()
	return openWith(t, db, "node", func(o *Options) {
		o.Surviving, o.RuntimeLimits = surviving, func(string) session.RuntimeLimits { return limits }
	})
}

// sendLater sends a message that may have to wait; the channel receives its turn, or the error.
func (k *kit) sendLater(ctx context.Context, sessionID string) <-chan any {
	out := make(chan any, 1)
	go func() {
		turnID, err := turnOf(k.Send(ctx, sessionID, session.Message{Text: "later"}))
		if err != nil {
			out <- err
		} else {
			out <- turnID
		}
	}()
	return out
}

func (k *kit) onTheirWay(messages, places int) {
	k.t.Helper()
	k.eventually("messages wait", func() bool {
		load := k.Load("codex")
		return load.Messages == messages &&
			load.Waiting == places
	})
}

// At a runtime's limit of turns, further turns wait in order, however the turn before ends. Steered messages do not
// wait. RA-28
func TestTurnsOfARuntimeAreBounded(t *testing.T) {
	eachLimited(t, session.RuntimeLimits{Turns: 1}, func(t *testing.T, k *kit) {
		one, two, three := k.create().ID, k.create().ID, k.create().ID
		first := k.send(one)
		second := k.sendLater(t.Context(), two)
		k.onTheirWay(1, 1)
		gone, giveUp := context.WithCancel(t.Context())
		given := k.sendLater(gone, k.create().ID)
		k.onTheirWay(2, 2)
		third := k.sendLater(t.Context(), three)
		k.onTheirWay(3, 3)
		giveUp()
		if err := <-given; !errors.Is(err.(error), context.Canceled) {
			t.Errorf("a caller that gave up got %v", err)
		}
		k.onTheirWay(2, 2)
		if steered := k.send(one); steered != first {
			t.Errorf("what is steered is in turn %s, not %s", steered, first)
		}
		if turns, _ := k.fake.seen(); len(turns) != 2 {
			t.Errorf("the runtime received %d messages, not of the first and what is steered", len(turns))
		}
		k.fake.end(one, first, runtime.TurnDone)
		turn := <-second
		k.onTheirWay(1, 1)
		if load := k.Load("codex"); load.Turns != 1 {
			t.Errorf("%d turns run", load.Turns)
		}
		k.fake.end(two, turn.(string), runtime.TurnFailed)
		if turn, ok := (<-third).(string); !ok || k.index.ActiveTurn(three) != turn {
			t.Errorf("the third is %v", turn)
		}
		fourth := k.sendLater(t.Context(), one)
		k.onTheirWay(1, 1)
		k.fake.exited() // with the turn of the third
		k.fake.started(ids.New())
		if _, ok := (<-fourth).(string); !ok {
			t.Error("no turn after the runtime's end")
		}
		k.onTheirWay(0, 0)
	})
}

// A turn that continues in a process of the previous server counts.
func TestTurnsThatSurvivedCount(t *testing.T) {
	eachLimited(t, session.RuntimeLimits{Turns: 1}, func(t *testing.T, k *kit) {
		one, two := k.create().ID, k.create().ID
		first, generation := k.send(one), k.fake.generation
		k.close()
		k = openLimited(t, k.db, session.RuntimeLimits{Turns: 1}, generation)
		if load := k.Load("codex"); load.Turns != 1 {
			t.Errorf("after the restart %d turns run", load.Turns)
		}
		second := k.sendLater(t.Context(), two)
		k.onTheirWay(1, 1)
		k.fake.end(one, first, runtime.TurnDone)
		if turn, ok := (<-second).(string); !ok {
			t.Errorf("the second is %v", turn)
		}
	})
}

// If too many messages are being sent, further ones are refused immediately, with the reason and without any effect.
// RA-28
func TestMessagesOnTheirWayAreBounded(t *testing.T) {
	eachLimited(t, session.RuntimeLimits{Turns: 1, Messages: 3, SessionMessages: 2}, func(t *testing.T, k *kit) {
		one, two, three, four := k.create().ID, k.create().ID, k.create().ID, k.create().ID
		first := k.send(one)
		waits := []<-chan any{k.sendLater(t.Context(), two), k.sendLater(t.Context(), two)}
		k.onTheirWay(2, 1)
		var limit *session.LimitError
		if _, err := k.Send(t.Context(), two, session.Message{Text: "too many"}); !errors.As(err, &limit) || limit.SessionID != two ||
			limit.Limit != 2 {
			t.Errorf("the third message to a session: %v", err)
		}
		third := k.sendLater(t.Context(), three)
		k.onTheirWay(3, 2)
		if _, err := k.Send(t.Context(), four, session.Message{Text: "too many"}); !errors.As(err, &limit) || limit.SessionID != "" ||
			limit.Limit != 3 {
			t.Errorf("the fourth message to the runtime: %v", err)
		}
		if _, err := k.Create(t.Context(), session.Create{}); !errors.As(err, &limit) {
			t.Errorf("a session of a runtime that takes no more: %v", err)
		}
		if turns, _ := k.fake.seen(); len(turns) != 1 {
			t.Errorf("the runtime received %d messages", len(turns))
		}
		k.fake.end(one, first, runtime.TurnDone)
		turn, steered := <-waits[0], <-waits[1]
		if turn != steered {
			t.Errorf("two messages to one session became %v and %v", turn, steered)
		}
		k.fake.end(two, turn.(string), runtime.TurnDone)
		if turn, ok := (<-third).(string); !ok {
			t.Errorf("the third is %v", turn)
		}
		k.onTheirWay(0, 0)
	})
}
