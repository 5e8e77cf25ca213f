package manager

import (
	"errors"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/tests/dbtest"
)

// Another node took over a session while its server was frozen. That server, which still trusts its lease, no longer
// writes to the session: neither its runtime's output nor a message that was being sent. Its other sessions continue.
func TestASessionThatWasTakenIsNotWrittenToByItsFormerOwner(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	owner := open(t, db, "one")
	taken, kept := owner.create(), owner.create()
	owner.fake.end(taken.ID, owner.send(taken.ID), runtime.TurnDone)
	owner.flush()

	var other *kit
	owner.fake.mu.Lock()
	owner.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
		if in.ThreadID == taken.ID { // the server is frozen before it receives the answer
			other = openWith(t, db, "two", func(o *Options) { o.AdoptNodes = []string{"one"} })
			_, err := db.Raw().ExecContext(t.Context(), `update sessions set node_id = 'one', epoch = 0 where id = $1`, kept.ID)
			owner.do(err)
		}
		return runtime.StartedTurn{TurnID: turnID}, nil
	}
	owner.fake.mu.Unlock()
	_, err := owner.Send(t.Context(), taken.ID, session.Message{Text: "late"})
	if refused := (*session.TakenError)(nil); !errors.As(err, &refused) || refused.SessionID != taken.ID {
		t.Errorf("the late message got %v", err)
	}
	before := len(other.records())
	say := func(session, turnID string) {
		owner.fake.begin(session, turnID)
		owner.fake.notify(session, turnID, "item/agentMessage/delta", nil)
		owner.fake.item(session, turnID, runtime.Item{ID: "i", Type: "agentMessage", Content: "late"}, true)
		owner.fake.end(session, turnID, runtime.TurnDone)
		owner.flush()
	}
	say(taken.ID, "late-turn")
	if after := other.records(); len(after) != before {
		t.Errorf("the former owner wrote %v", after[before:])
	}
	if _, known, err := store.ReadTurn(t.Context(), db.Read(), taken.ID, "late-turn"); known || err != nil {
		t.Errorf("its turn is stored: %t, %v", known, err)
	}
	say(kept.ID, "own-turn")
	if turn := owner.turn(kept.ID, "own-turn"); turn.Status != runtime.TurnDone {
		t.Errorf("the turn of a session of its own is %q", turn.Status)
	}

	// The new owner writes, and so does the first owner once it has the session again.
	other.fake.end(taken.ID, other.send(taken.ID), runtime.TurnDone)
	other.flush()
	owner.close()
	other.close()
	back := openWith(t, db, "one", func(o *Options) { o.AdoptNodes = []string{"two"} })
	back.fake.mu.Lock()
	back.fake.nextTurn = 100
	back.fake.mu.Unlock()
	turn := back.send(taken.ID)
	back.flush()
	if got := back.turn(taken.ID, turn); got.Status != runtime.TurnInProgress {
		t.Errorf("the turn of the session that came back is %q", got.Status)
	}
}
