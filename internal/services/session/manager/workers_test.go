package manager

import (
	"context"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// A kill between the deletion of an owner and that of its workers' sessions leaves sessions without an owner. So does
// a kill during the creation of such a session. The next start removes only those, and shows none of them as a chat.
func TestKillLeavesNoWorkers(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		f := fakeWorkers{k}
		k.SetWorkers(f)
		p, chat := k.project("p"), k.create()
		working := k.worker(f, p.ID)
		orphan, err := k.Create(t.Context(), session.Create{SystemOwned: true})
		k.do(err)
		_, err = k.Rename(t.Context(), chat.ID, session.DraftTitle) // a user may give a chat any title
		k.do(err)
		// As listed by a runtime that outlived its server: one session without a row, and one of which only the id was
		// stored.
		unborn, noted := ids.New(), ids.New()
		draft := func(id string) runtime.Thread {
			return runtime.Thread{ID: id, Name: session.DraftTitle, CreatedAt: 1000, UpdatedAt: 1000,
				Raw: encode(map[string]string{"id": id})}
		}
		k.fake.mu.Lock()
		threads := append(k.fake.threads, draft(unborn), draft(noted))
		k.fake.mu.Unlock()
		k.do(k.journal.Do(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, store.InsertPlaceholder(ctx, tx, store.Placeholder{ID: noted, Runtime: "codex", Node: "node", At: 1000})
		}))
		k.close()

		log := journal.New(k.db, journal.Options{})
		k.do(log.Start(t.Context()))
		again := New(Options{Journal: log, DB: k.db, NodeOptions: NodeOptions{NodeID: "node"}, Defaults: testControls,
			Clock: func() time.Time { return time.Now().Add(2 * time.Second) }})
		next := &kit{Service: again, flat: flatOf(again), t: t, fake: &fake{generation: ids.New(), threads: threads}, log: log}
		next.fake.sink = again.Sink("codex")
		again.Registry.Attach(next.fake)
		again.Agents.SetWorkers(fakeWorkers{next})
		k.do(again.Start(t.Context()))
		t.Cleanup(next.close)
		next.fake.started(next.fake.generation)
		for _, id := range []string{orphan.ID, unborn, noted} {
			next.eventually("session "+id+" is removed", func() bool { return next.isDeleted(id) })
		}
		page, err := again.Reader.List(t.Context(), session.ListQuery{})
		k.do(err)
		if len(page.Sessions) != 1 || page.Sessions[0].ID != chat.ID {
			t.Errorf("clients are shown %+v", page.Sessions)
		}
		if next.isDeleted(working) {
			t.Error("a worker at work is removed")
		}
	})
}

// The deletion of an owner and the dismissal of its workers are one commit: no worker is dismissed if the owner stays.
func TestWorkersStayWithTheirOwner(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		f := fakeWorkers{k}
		k.SetWorkers(f)
		p, chat := k.project("p"), k.create()
		k.assign(chat.ID, &p.ID)
		worker := k.worker(f, p.ID)
		if _, err := k.DeleteProject(t.Context(), p.ID); err == nil {
			t.Fatal("a project with a chat is deleted")
		}
		if works, err := f.Works(t.Context(), worker); err != nil || !works || k.isDeleted(worker) {
			t.Errorf("the worker of a project that stays: works %t, %v", works, err)
		}
	})
}
