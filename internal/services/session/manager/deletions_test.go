package manager

import (
	"errors"
	"slices"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// answeredWithin is the promised time limit for a deletion's caller.
const answeredWithin = 10 * time.Second

// hasDeleted reports whether the runtime received the deletion of every session.
func (f *fake) hasDeleted(ids ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(f.deleted, id) })
}

func (k *kit) noted() int {
	k.t.Helper()
	noted, err := k.deletions.notedDeletions(k.t.Context())
	k.do(err)
	return len(noted)
}

// An unresponsive runtime does not prevent the deletion of a chat. Neither does a running turn or a message that is
// being sent. All chats of a project share one wait for the runtime. The runtime is notified when it answers again.
func TestDeletingDoesNotWaitForAFrozenRuntime(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p, err := k.CreateProject(t.Context(), "p", nil)
		k.do(err)
		var ids []string
		for range 4 {
			s := k.create()
			_, err := k.AssignProject(t.Context(), s.ID, &p.ID)
			k.do(err)
			ids = append(ids, s.ID)
		}
		asked, running := k.create(), ids[2]
		k.fake.ask(running, k.send(running), 0, runtime.RequestApproval, "m", "{}")
		k.pending(running, runtime.RequestApproval)
		thaw := k.fake.freeze()
		defer thaw()
		sent := make(chan error, 1)
		go func() {
			_, err := k.Send(t.Context(), asked.ID, session.Message{Text: "never answered"})
			sent <- err
		}()
		k.eventually("the message is on its way", func() bool { return len(k.locks.Users()) == 1 })

		began := time.Now()
		if _, err := k.Delete(t.Context(), asked.ID); err != nil {
			t.Errorf("the chat with a message on its way: %v", err)
		}
		if took := time.Since(began); took > answeredWithin {
			t.Errorf("one deletion took %s", took)
		}
		began = time.Now()
		deleted, skipped, err := k.DeleteChats(t.Context(), p.ID)
		if took := time.Since(began); err != nil || deleted != len(ids) || skipped != 0 || took > answeredWithin {
			t.Errorf("deleted %d, skipped %d, %v in %s", deleted, skipped, err, took)
		}
		ids = append(ids, asked.ID)
		for _, id := range ids {
			if !k.isDeleted(id) {
				t.Errorf("session %s is there", id)
			}
		}
		if noted := k.noted(); noted != len(ids) || k.fake.hasDeleted(ids[0]) {
			t.Errorf("%d deletions are noted", noted)
		}

		thaw()
		var gone *session.DeletedError
		if err := <-sent; !errors.As(err, &gone) {
			t.Errorf("the message to a deleted chat: %v", err)
		}
		k.eventually("the runtime is notified", func() bool { return k.fake.hasDeleted(ids...) && k.noted() == 0 })
	})
}

// A pending deletion for the runtime survives a restart of the server. If the runtime still lists the deleted chat,
// that does not restore it.
func TestANotedDeletionSurvivesARestart(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.exited()
		if deleted, err := k.Delete(t.Context(), s.ID); err != nil || deleted.DeletedFileCount != 0 ||
			deleted.Title != session.NewChatTitle {
			t.Fatalf("deleted without a runtime: %+v, %v", deleted, err)
		}
		k.close()

		next := open(t, k.db, "another-node")
		next.close()
		if next.fake.hasDeleted(s.ID) {
			t.Error("another node's runtime was notified")
		}
		next = open(t, k.db, "node")
		next.eventually("the runtime is notified", func() bool { return next.fake.hasDeleted(s.ID) && next.noted() == 0 })
		next.fake.mu.Lock()
		next.fake.threads = append(next.fake.threads, runtime.Thread{ID: s.ID})
		next.fake.mu.Unlock()
		next.do(next.adoptAll(t.Context(), "codex"))
		if !next.isDeleted(s.ID) {
			t.Error("the runtime's list brought the chat back")
		}
	})
}

// A refusal is an answer: the chat stays.
func TestRefusedDeletionIsReturned(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		refused := &runtime.Error{Runtime: "codex", Code: -32600, Message: "no"}
		k.fake.mu.Lock()
		k.fake.deleteErr = refused
		k.fake.mu.Unlock()
		if _, err := k.Delete(t.Context(), s.ID); !errors.Is(err, refused) || k.isDeleted(s.ID) || k.noted() != 0 {
			t.Errorf("got %v", err)
		}
	})
}
