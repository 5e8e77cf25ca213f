package manager

import (
	"errors"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

func (k *kit) answersTo(want int) func() bool {
	return func() bool {
		_, answers := k.fake.seen()
		return len(answers) == want
	}
}

// deliveredAt returns when (ms) the runtime got a decision.
func (k *kit) deliveredAt(id string) (at int64) {
	k.t.Helper()
	k.flush()
	k.do(k.db.Read().QueryRowContext(k.t.Context(), `select delivered_at from interactive_requests where id = $1`,
		id).Scan(&at))
	return at
}

// receive makes the node receive other nodes' commits: on SQLite, a journal receives them when it writes.
func (k *kit) receive() {
	k.t.Helper()
	k.fake.notify("", "", "account/updated", nil)
	k.flush()
}

// A decision of any kind made on another node is sent to the runtime once, and the delivery is stored.
func TestTheOwnerDeliversWhatAnotherNodeDecides(t *testing.T) {
	twoNodes(t, func(t *testing.T, owner, other *kit, s session.Session, turnID string) {
		for i, want := range kinds {
			owner.fake.ask(s.ID, turnID, i, want.kind, want.method, want.params)
			request := owner.pending(s.ID, want.kind)[0]
			_, err := other.Settle(t.Context(), request.ID, want.kind, want.reply, "user")
			owner.do(err)
			owner.receive()
			owner.eventually("the answer", owner.answersTo(i+1))
			owner.eventually("it is stored", func() bool { return owner.deliveredAt(request.ID) != 0 })
			_, answers := owner.fake.seen()
			if got := answers[i]; got.Decision != want.reply.Decision || got.Success != want.reply.Success {
				t.Errorf("%s: the runtime got %+v", want.kind, got)
			}
		}
		owner.receive()
		if _, answers := other.fake.seen(); len(answers) != 0 || !owner.answersTo(len(kinds))() {
			t.Errorf("the other node's runtime got %+v", answers)
		}
	})
}

// A decision may be made while the owner is down, or be lost between the commit and the runtime. The server sends it
// when it attaches to the runtime again, and only once.
func TestAStoredDecisionIsDeliveredAfterARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		owner := open(t, db, "one")
		generation := owner.fake.generation
		s := owner.create()
		turnID := owner.send(s.ID)
		owner.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		owner.fake.ask(s.ID, turnID, 1, runtime.RequestApproval, "m", "{}")
		pending := owner.pending(s.ID, runtime.RequestApproval)
		owner.fake.answerErr = errors.New("the connection broke")
		_, err := owner.Settle(t.Context(), pending[0].ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
		owner.do(err)
		if at := owner.deliveredAt(pending[0].ID); at != 0 {
			t.Errorf("what the runtime did not get counts as delivered at %d", at)
		}
		owner.close()
		other := open(t, db, "two")
		_, err = other.Settle(t.Context(), pending[1].ID, runtime.RequestApproval, runtime.Reply{Decision: "decline"}, "user")
		owner.do(err)
		other.close()

		owner = open(t, db, "one", generation)
		resumption, err := owner.Resumption(t.Context(), generation)
		owner.do(err)
		owner.eventually("the answers", owner.answersTo(2))
		if len(resumption.Requests) > 2 {
			t.Errorf("the adapter gets %+v", resumption.Requests)
		}
		for _, request := range pending {
			owner.eventually("it is stored", func() bool { return owner.deliveredAt(request.ID) != 0 })
		}
		owner.close()
		again := open(t, db, "one", generation)
		again.receive()
		if resumption, err := again.Resumption(t.Context(), generation); err != nil || len(resumption.Requests) != 0 {
			t.Errorf("the adapter gets %+v, %v", resumption.Requests, err)
		}
		if !again.answersTo(0)() {
			t.Error("a decision was sent twice")
		}
	})
}

// If the process ends before it gets the decision, the published decision expires with its turn.
func TestUndeliveredDecisionExpires(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		k.fake.ask(s.ID, turnID, 1, runtime.RequestApproval, "m", "{}")
		pending := k.pending(s.ID, runtime.RequestApproval)
		_, err := k.Settle(t.Context(), pending[0].ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
		k.do(err)
		k.fake.answerErr = errors.New("the connection broke")
		_, err = k.Settle(t.Context(), pending[1].ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
		k.do(err)
		k.fake.exited()
		for i, want := range []session.RequestStatus{session.RequestResolved, session.RequestExpired} {
			k.flush()
			got, err := k.Request(t.Context(), pending[i].ID, runtime.RequestApproval)
			if err != nil || got.Status != want {
				t.Errorf("request %d is %s (%v), want %s", i, got.Status, err, want)
			}
		}
		if published := k.events("approval_resolved"); len(published) != 3 {
			t.Errorf("published %d times, want accept, accept, expired", len(published))
		}
	})
}

// RA-35: after a request is canceled, its turn is being stopped: a message waits for the end of that turn, and is a turn of
// its own. It joins the turn of an agent that goes on all the same.
func TestAMessageBehindACancellationWaits(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for i, ends := range []bool{true, false} {
			s := k.create()
			turn := k.send(s.ID)
			k.fake.ask(s.ID, turn, i, runtime.RequestApproval, "m", "{}")
			if k.Service.Stopper.stopPatience = time.Minute; !ends {
				k.Service.Stopper.stopPatience = 20 * time.Millisecond
			}
			_, err := k.Settle(t.Context(), k.pending(s.ID, runtime.RequestApproval)[0].ID, runtime.RequestApproval,
				runtime.Reply{Decision: "cancel"}, "user")
			k.do(err)
			if err := k.Steer(t.Context(), s.ID, turn, "no"); ends && !errors.Is(err, session.ErrNoActiveTurn) {
				t.Errorf("a canceled turn is steered: %v", err)
			}
			sent := make(chan session.Sent, 1)
			go func() {
				got, err := k.Send(t.Context(), s.ID, session.Message{Text: "behind it"})
				if err != nil {
					t.Error(err)
				}
				sent <- got
				close(sent)
			}()
			if ends {
				select {
				case got := <-sent:
					t.Errorf("a message does not wait for the end of a canceled turn: %+v", got)
				case <-time.After(50 * time.Millisecond):
				}
				k.fake.end(s.ID, turn, runtime.TurnInterrupted)
			}
			if got := <-sent; got.Steered == ends || (got.TurnID == turn) == ends {
				t.Errorf("the turn ends: %t; %s was canceled, the message is %+v", ends, turn, got)
			}
		}
	})
}
