package manager

import (
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// flatTries is the maximum number of measurements of a cost. A cost that grows does so each time; other load on the
// machine does not.
const flatTries = 5

// analyze updates the statistics that Postgres plans with, as Postgres itself does some time after a change.
func (k *kit) analyze() {
	k.t.Helper()
	if k.db.Engine() == database.Postgres {
		k.do(k.db.Update(k.t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(k.t.Context(), "analyze")
			return err
		}))
	}
}

// A page of the list costs the same regardless of how many turns its sessions have had.
func TestListCostIsFlat(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		const turns = 20_000
		list := func() time.Duration {
			fastest := time.Hour // of many: other load only adds time
			for range 30 {
				start := time.Now()
				page, err := k.List(t.Context(), session.ListQuery{Figures: true})
				k.do(err)
				if len(page.Sessions) != 3 {
					t.Fatalf("%d sessions", len(page.Sessions))
				}
				fastest = min(fastest, time.Since(start))
			}
			return fastest
		}
		var last session.Session
		for range 3 {
			last = k.create()
			k.end(last.ID, k.send(last.ID))
		}
		k.analyze()
		few := list()
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(),
				`with recursive n (i) as (select 1 union all select i + 1 from n where i < cast($2 as bigint))
				insert into turns (session_id, turn_id, status, error, generation, node_id, started_at, completed_at)
				select cast($1 as text), 'old-' || i, 'completed', '', 'g', 'node', i, i from n`, last.ID, turns)
			return err
		}))
		k.analyze()
		for range flatTries {
			many := list()
			t.Logf("%v with few turns, %v with %d", few, many, turns)
			if many <= 5*few+time.Millisecond {
				return
			}
		}
		t.Errorf("a page takes longer with %d turns than with few", turns)
	})
}

// The activity of a session follows its turns and their requests.
func TestActivity(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		check := func(want session.Activity) {
			t.Helper()
			k.flush()
			page, err := k.List(t.Context(), session.ListQuery{})
			k.do(err)
			if got := page.Sessions[0].Activity; string(encode(got)) != string(encode(want)) {
				t.Errorf("it is %s, want %s", encode(got), encode(want))
			}
		}
		check(session.Activity{State: session.StateIdle})
		turn := k.send(s.ID)
		check(session.Activity{State: session.StateRunning, ActiveTurnID: turn})
		for i := range 2 {
			k.fake.ask(s.ID, turn, i, runtime.RequestApproval, "m", "{}")
		}
		check(session.Activity{State: session.StateWaiting, ActiveTurnID: turn, PendingCount: 2})
		for _, request := range k.pending(s.ID, runtime.RequestApproval) {
			_, err := k.Settle(t.Context(), request.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
			k.do(err)
		}
		check(session.Activity{State: session.StateRunning, ActiveTurnID: turn})
		k.fake.notify(s.ID, turn, "turn/completed", runtime.TurnCompleted{TurnID: turn, Status: runtime.TurnFailed,
			Error: `{"error":{"message":"no money"}}`, Remedy: "Earn some."})
		failed := &session.TurnError{TurnID: turn, Message: "no money\n\nEarn some."}
		check(session.Activity{State: session.StateError, LastError: failed})
		next := k.send(s.ID)
		check(session.Activity{State: session.StateRunning, ActiveTurnID: next})
		k.fake.end(s.ID, next, runtime.TurnInterrupted)
		check(session.Activity{State: session.StateIdle})
		if got := entryIDs(k.stored(s.ID)); len(got) != 3 || got[2] != session.TurnErrorPrefix+turn {
			t.Errorf("stored %v", got)
		}
	})
}

// A runtime that reports whole seconds does not put a turn before one accepted earlier in the same second.
func TestLastTurnDecidesDespiteRuntimeClock(t *testing.T) {
	for _, receivedAfter := range []time.Duration{0, 1500 * time.Millisecond} {
		t.Run(receivedAfter.String(), func(t *testing.T) { lastTurnDecides(t, receivedAfter) })
	}
}

func lastTurnDecides(t *testing.T, receivedAfter time.Duration) {
	t.Helper()
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		failed := k.send(s.ID)
		k.fake.notify(s.ID, failed, "turn/completed", runtime.TurnCompleted{TurnID: failed, Status: runtime.TurnFailed,
			Error: "no money"})
		second := k.now() / 1000 * 1000
		// The runtime reports this turn before it is accepted. Like ids of runtimes, the id sorts by time within a
		// millisecond.
		const next = "turn-later"
		k.fake.emit(runtime.Signal{Kind: runtime.SignalNotification, Method: "turn/started", ThreadID: s.ID, TurnID: next,
			Params: encode(map[string]string{}), Raw: encode(map[string]string{}),
			Change: runtime.TurnStarted{TurnID: next, StartedAt: second}, ReceivedAt: time.Now().Add(receivedAfter)})
		k.fake.notify(s.ID, next, "turn/completed", runtime.TurnCompleted{TurnID: next, Status: runtime.TurnInterrupted,
			StartedAt: second})
		k.flush()
		page, err := k.List(t.Context(), session.ListQuery{})
		k.do(err)
		if got := page.Sessions[0].Activity; got.State != session.StateIdle || got.LastError != nil {
			t.Errorf("after an interrupted turn the session is %s", encode(got))
		}
	})
}
