package manager

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// theirs returns a conversation of two turns that exists in the runtime and is unknown to this server.
func (k *kit) theirs() runtime.Thread {
	k.t.Helper()
	item := func(id string) []runtime.Item {
		return []runtime.Item{{ID: id, Role: "user", Type: "userMessage", Content: id}}
	}
	thread := runtime.Thread{ID: ids.New(), Name: "theirs", Raw: encode(map[string]any{"turns": []int{}}),
		Turns: []runtime.Turn{
			{ID: "t1", Status: runtime.TurnDone, Items: item("a")}, {ID: "t2", Status: runtime.TurnDone, Items: item("b")}}}
	k.fake.mu.Lock()
	defer k.fake.mu.Unlock()
	k.fake.threads = append(k.fake.threads, thread)
	return thread
}

// relist lists the runtime's conversations, as after each of its starts.
func (k *kit) relist() {
	k.fake.exited()
	k.fake.started(ids.New())
}

// The server imports what a runtime lists, with its history, before a client reads it. It retries a failed import
// without a request.
func TestListedHistoriesAreImportedUnasked(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.Service.importer.imports.mu.Lock()
		k.Service.importer.imports.pause = time.Millisecond
		k.Service.importer.imports.mu.Unlock()
		k.fake.mu.Lock()
		k.fake.historyErr = errors.New("not now")
		k.fake.mu.Unlock()
		var all []string
		for range 5 {
			all = append(all, k.theirs().ID)
		}
		k.relist()
		k.eventually("every history is asked for, and again", func() bool { return k.fake.historyReads() > 2*len(all) })
		for _, id := range all {
			if got := k.stored(id); len(got) != 0 {
				t.Fatalf("stored %v of the history that the runtime refused", entryIDs(got))
			}
		}
		k.fake.mu.Lock()
		k.fake.historyErr = nil
		k.fake.mu.Unlock()
		for _, id := range all {
			k.eventually("the history is stored", func() bool { return slices.Equal(entryIDs(k.stored(id)), []string{"a", "b"}) })
		}
		asked := k.fake.historyReads()
		for _, id := range all {
			if got := k.read(id, session.Reading{}); len(got.Transcript) != 2 || got.HistoryPending {
				t.Errorf("read %v, pending %t", entryIDs(got.Transcript), got.HistoryPending)
			}
		}
		if more := k.fake.historyReads() - asked; more != 0 {
			t.Errorf("reading asked the runtime %d times", more)
		}
	})
}

// A search through the store continues page by page until no history is missing.
func TestMissingHistoriesArePaged(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.fake.mu.Lock()
		for range 2*importPage + 3 {
			k.fake.threads = append(k.fake.threads, runtime.Thread{ID: ids.New(), Name: "theirs", Raw: encode("raw")})
		}
		k.fake.mu.Unlock()
		k.relist()
		k.eventually("all are imported", func() bool {
			missing, err := missingHistories(t.Context(), k.db.Read(), k.opts.NodeID, "")
			k.do(err)
			return len(missing) == 0 && k.fake.historyReads() == 2*importPage+3
		})
	})
}

// Reads never ask the runtime themselves, however many arrive. While the runtime is slow, they answer in time and
// report what is missing.
func TestAReadDoesNotWaitForASlowHistory(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.Service.importer.imports.patience = 10 * time.Millisecond
		old := k.theirs()
		_, err := k.Lookup(t.Context(), old.ID)
		k.do(err)
		k.eventually("it is imported", func() bool { return len(k.stored(old.ID)) == 2 })
		thaw := k.fake.freeze()
		defer thaw()
		k.do(k.commitHistoryMissing(old.ID))
		version := ""
		for range 3 {
			got := k.read(old.ID, session.Reading{})
			if !got.HistoryPending || len(got.Transcript) != 2 {
				t.Fatalf("read %v, pending %t", entryIDs(got.Transcript), got.HistoryPending)
			}
			version = got.Version
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := k.Read(ctx, old.ID, session.Reading{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a reader who went away: %v", err)
		}
		thaw()
		k.eventually("the rest is there", func() bool { return !k.read(old.ID, session.Reading{}).HistoryPending })
		if got := k.read(old.ID, session.Reading{}); got.Version == version {
			t.Error("the version did not change with what was missing")
		}
		if n := k.fake.historyReads(); n != 2 {
			t.Errorf("the runtime was asked %d times, want 2", n)
		}
	})
}

// While a runtime is down, reads show its conversations as stored, immediately.
func TestAReadWhileTheRuntimeIsDown(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.Service.importer.imports.patience = patience
		old := k.theirs()
		k.fake.mu.Lock()
		k.fake.historyErr = errors.New("not now")
		k.fake.mu.Unlock()
		k.relist()
		k.eventually("it is asked for in vain", func() bool { return k.fake.historyReads() == 1 })
		k.fake.exited()
		if got := k.read(old.ID, session.Reading{}); !got.HistoryPending || len(got.Transcript) != 0 {
			t.Errorf("read %v, pending %t", entryIDs(got.Transcript), got.HistoryPending)
		}
		k.fake.mu.Lock()
		k.fake.historyErr = nil
		k.fake.mu.Unlock()
		k.fake.started(ids.New())
		k.eventually("the next process reports it", func() bool { return len(k.stored(old.ID)) == 2 })
	})
}

// commitHistoryMissing marks a session whose history changed while this server was not watching.
func (k *kit) commitHistoryMissing(sessionID string) error {
	_, err := k.log.Commit(k.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, store.UpdateSession(ctx, tx, sessionID, `history_at = 0`)
	})
	return err
}
