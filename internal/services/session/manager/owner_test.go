package manager

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

// twoNodes opens two servers on one store, with a session and a turn on the first.
func twoNodes(t *testing.T, test func(t *testing.T, owner, other *kit, s session.Session, turnID string)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		owner, other := open(t, db, "one"), open(t, db, "two")
		s := owner.create()
		turnID := owner.send(s.ID)
		owner.flush()
		other.flush()
		test(t, owner, other, s, turnID)
	})
}

// Another node refuses an operation that needs the owner's runtime, before it stores, publishes or asks anything.
func TestAnotherNodesSessionIsRefused(t *testing.T) {
	twoNodes(t, func(t *testing.T, owner, other *kit, s session.Session, turnID string) {
		project, err := owner.CreateProject(t.Context(), "p", nil)
		owner.do(err)
		_, err = owner.AssignProject(t.Context(), s.ID, &project.ID)
		owner.do(err)
		// Even a runtime that has the conversation, as with a shared folder, gets no call.
		other.fake.mu.Lock()
		other.fake.threads = append(other.fake.threads, runtime.Thread{ID: s.ID, Preview: "theirs"})
		other.fake.mu.Unlock()
		before := len(owner.records())
		for name, call := range map[string]func(ctx context.Context) error{
			"send": func(ctx context.Context) error {
				_, err := other.Send(ctx, s.ID, session.Message{Text: "hi"})
				return err
			},
			"interrupt": func(ctx context.Context) error { _, err := other.Interrupt(ctx, s.ID, ""); return err },
			"steer":     func(ctx context.Context) error { return other.Steer(ctx, s.ID, turnID, "hi") },
			"rename":    func(ctx context.Context) error { _, err := other.Rename(ctx, s.ID, "x"); return err },
			"archive":   func(ctx context.Context) error { _, err := other.Archive(ctx, s.ID); return err },
			"unarchive": func(ctx context.Context) error { _, err := other.Unarchive(ctx, s.ID); return err },
			"resume":    func(ctx context.Context) error { _, err := other.Resume(ctx, s.ID, nil); return err },
			"delete":    func(ctx context.Context) error { _, err := other.Delete(ctx, s.ID); return err },
			"delete all": func(ctx context.Context) error {
				_, _, err := other.DeleteChats(ctx, project.ID)
				return err
			},
			"archive all": func(ctx context.Context) error {
				_, err := other.MoveChats(ctx, project.ID, true)
				return err
			},
		} {
			var refused *session.NotOwnerError
			if err := call(t.Context()); !errors.As(err, &refused) || refused.SessionID != s.ID || refused.Owner != "one" ||
				refused.Node != "two" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := owner.records(); len(after) != before {
			t.Errorf("published %v", after[before:])
		}
		other.fake.mu.Lock()
		asked := fmt.Sprint(other.fake.turns, other.fake.interrupts, other.fake.deleted, other.fake.threads[0].Name,
			other.fake.histories)
		other.fake.mu.Unlock()
		if asked != fmt.Sprint([]runtime.StartTurn(nil), []string(nil), []string(nil), "", 0) {
			t.Errorf("the other node's runtime was asked: %s", asked)
		}

		// Reads come from the store, and a listing of the other runtime changes nothing.
		detail, err := other.Get(t.Context(), s.ID)
		owner.do(err)
		if detail.Session.NodeID != "one" || other.fake.histories != 0 {
			t.Errorf("read %+v, %d histories", detail.Session, other.fake.histories)
		}
		owner.do(other.storeThreads(t.Context(), "codex",
			[]runtime.Thread{{ID: s.ID, Name: "theirs", UpdatedAt: owner.now() + 1000}}, owner.now()+1))
		if got, err := owner.Lookup(t.Context(), s.ID); err != nil || got.Title != session.NewChatTitle || got.NodeID != "one" {
			t.Errorf("the listing made it %+v, %v", got, err)
		}
	})
}

// Each node lists its conversations; a conversation that both have belongs to the first node that listed it.
func TestTheFirstNodeThatListsAConversationOwnsIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		one, two := open(t, db, "one"), open(t, db, "two")
		shared := runtime.Thread{ID: ids.New(), Preview: "shared", Raw: encode("raw")}
		one.do(two.storeThreads(t.Context(), "codex", []runtime.Thread{shared}, 1))
		one.do(one.storeThreads(t.Context(), "codex", []runtime.Thread{shared}, 2))
		if got, err := one.Lookup(t.Context(), shared.ID); err != nil || got.NodeID != "two" {
			t.Errorf("owned by %s, %v", got.NodeID, err)
		}
	})
}

// A server adopts the sessions of lost nodes if a setting names the nodes. It also does if it is the only server of
// the store. It settles the work that they left open.
func TestTheSessionsOfGoneNodesAreAdopted(t *testing.T) {
	for name, adopt := range map[string]func(*Options){
		"named":     func(o *Options) { o.AdoptNodes = []string{"one", "unknown", "two"} },
		"only node": func(o *Options) { o.OnlyNode = true },
	} {
		t.Run(name, func(t *testing.T) {
			twoNodes(t, func(t *testing.T, owner, other *kit, s session.Session, turnID string) {
				owner.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
				owner.flush()
				owner.close()
				other.close()
				again := openWith(t, owner.db, "two", adopt)
				if turn := again.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted {
					t.Errorf("the turn is %s", turn.Status)
				}
				if pending := again.pending(s.ID, runtime.RequestApproval); len(pending) != 0 {
					t.Errorf("pending %+v", pending)
				}
				again.fake.mu.Lock()
				again.fake.threads = append(again.fake.threads, runtime.Thread{ID: s.ID})
				again.fake.mu.Unlock()
				again.send(s.ID)
			})
		})
	}
}
