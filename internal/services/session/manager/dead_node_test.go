package manager

import (
	"context"
	"errors"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Another node ends the work that a dead node left open, and notifies clients. Later output of the dead node's runtime
// changes nothing. The dead node keeps its sessions.
func TestADeadNodesTurnsEndAtAnotherNode(t *testing.T) {
	twoNodes(t, func(t *testing.T, owner, other *kit, s session.Session, turnID string) {
		spooled := func(offset int64, method string, change runtime.Change) {
			owner.fake.emitBatch(runtime.Batch{Offset: offset, Signals: []runtime.Signal{{
				Kind: runtime.SignalNotification, Method: method, ThreadID: s.ID, TurnID: turnID,
				Raw: []byte(`{"method":"` + method + `"}`), Change: change}}})
		}
		spooled(1, "item/started", runtime.ItemChanged{TurnID: turnID, Item: runtime.Item{ID: "i", Type: "agentMessage"}})
		owner.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		owner.flush()
		refused := errors.New("it lives")
		if err := other.EndNode(t.Context(), "one", func(context.Context, database.Tx) error {
			return journal.Refuse(refused)
		}); !errors.Is(err, refused) || other.turn(s.ID, turnID).Status != runtime.TurnInProgress {
			t.Errorf("a node that lives was ended: %v", err)
		}
		other.do(other.EndNode(t.Context(), "one", func(context.Context, database.Tx) error { return nil }))
		if turn := other.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted {
			t.Errorf("the turn is %s", turn.Status)
		}
		if pending := other.pending(s.ID, runtime.RequestApproval); len(pending) != 0 {
			t.Errorf("pending %+v", pending)
		}
		other.one("approval_resolved")
		other.one(eventNodeEnded)

		stored := len(other.records())
		spooled(2, "turn/completed", runtime.TurnCompleted{TurnID: turnID, Status: runtime.TurnDone})
		owner.flush()
		if turn := other.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted || len(other.records()) != stored {
			t.Errorf("a dead runtime's signal was accepted: the turn is %s, %d records after %d", turn.Status, len(other.records()), stored)
		}
		if read, err := other.Lookup(t.Context(), s.ID); err != nil || read.NodeID != "one" {
			t.Errorf("the session is %s's, %v", read.NodeID, err)
		}
	})
}

// A node that is unsure of its lease uses no runtime. It returns the same error as for an unavailable store.
func TestAnUnsureNodeStartsNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.close()
		unsure := openWith(t, k.db, "node", func(o *Options) { o.Sure = func() error { return errors.New("not sure") } })
		_, err := unsure.Send(t.Context(), s.ID, session.Message{Text: "hi"})
		if outage := (*journal.OutageError)(nil); !errors.As(err, &outage) {
			t.Errorf("a message got %v", err)
		}
		if turns, _ := unsure.fake.seen(); len(turns) != 0 {
			t.Errorf("the runtime got %+v", turns)
		}
	})
}

// A draining node starts nothing for users; its workers continue.
func TestADrainedNodeBeginsNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		worker, err := k.Create(t.Context(), session.Create{SystemOwned: true})
		k.do(err)
		k.close()
		drained := openWith(t, k.db, "node", func(o *Options) { o.Draining = func() bool { return true } })
		drained.fake.mu.Lock()
		drained.fake.threads = append(drained.fake.threads, runtime.Thread{ID: s.ID}, runtime.Thread{ID: worker.ID})
		drained.fake.mu.Unlock()
		_, err = drained.Send(t.Context(), s.ID, session.Message{Text: "hi"})
		_, created := drained.Create(t.Context(), session.Create{})
		if !errors.Is(err, runtime.ErrUnavailable) || !errors.Is(created, runtime.ErrUnavailable) {
			t.Errorf("a message got %v, a new session %v", err, created)
		}
		drained.send(worker.ID)
	})
}
