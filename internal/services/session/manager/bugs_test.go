package manager

import (
	"errors"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// These tests cover bugs of the original that this package does not have.

// Reading the pending requests changes nothing. The original published each pending file change again, so that polling
// queued reviews.
func TestListingRequestsPublishesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "item/fileChange/requestApproval", `{"itemId":"item"}`)
		k.pending(s.ID, runtime.RequestApproval)
		events, entries := len(k.records()), len(k.stored(s.ID))
		for range 3 {
			if got := k.pending(s.ID, runtime.RequestApproval); len(got) != 1 {
				t.Fatalf("%d pending", len(got))
			}
		}
		if len(k.records()) != events || len(k.stored(s.ID)) != entries {
			t.Errorf("%d events and %d entries more", len(k.records())-events, len(k.stored(s.ID))-entries)
		}
	})
}

// A deleted session stays deleted after a restart, on every path. The original kept its tombstones in memory.
func TestTombstonesOutliveTheServer(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		_, err := k.Delete(t.Context(), s.ID)
		k.do(err)
		k = k.reopen()
		// The runtime still has it: codex keeps rows of deleted conversations.
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, runtime.Thread{ID: s.ID, Name: "back"})
		k.fake.mu.Unlock()
		ctx := t.Context()
		for name, act := range map[string]func() error{
			"lookup": func() error { _, err := k.Lookup(ctx, s.ID); return err },
			"read":   func() error { _, err := k.Get(ctx, s.ID); return err },
			"send":   func() error { _, err := k.Send(ctx, s.ID, session.Message{Text: "x"}); return err },
			"upsert": func() error {
				return k.UpsertTranscript(ctx, s.ID, transcript.Entry{MessageID: "m", Status: "complete"})
			},
			"rename":  func() error { _, err := k.Rename(ctx, s.ID, "x"); return err },
			"resume":  func() error { _, err := k.Resume(ctx, s.ID, nil); return err },
			"archive": func() error { _, err := k.Archive(ctx, s.ID); return err },
			"project": func() error { _, err := k.AssignProject(ctx, s.ID, nil); return err },
			"controls": func() error {
				_, err := k.EditControls(ctx, s.ID, session.ControlEdit{Edit: settings("a", "1")})
				return err
			},
			"delete": func() error { _, err := k.Delete(ctx, s.ID); return err },
		} {
			var gone *session.DeletedError
			if err := act(); !errors.As(err, &gone) || gone.DeletedAt == 0 || gone.Title != session.NewChatTitle {
				t.Errorf("%s of a deleted session: %v", name, err)
			}
		}
	})
}

// A title for a missing session is not stored. The original stored it before the runtime refused.
func TestRenameOfUnknownStoresNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		id := ids.New()
		if _, err := k.Rename(t.Context(), id, "Mine"); !errors.Is(err, session.ErrNotFound) {
			t.Fatalf("renamed: %v", err)
		}
		if _, err := store.ReadSession(t.Context(), k.db.Read(), id); !errors.Is(err, session.ErrNotFound) {
			t.Fatalf("stored: %v", err)
		}
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, runtime.Thread{ID: id, Name: "Theirs"})
		k.fake.mu.Unlock()
		if s, err := k.Lookup(t.Context(), id); err != nil || s.Title != "Theirs" {
			t.Errorf("the session that came later is called %q, %v", s.Title, err)
		}
	})
}

// An entry never ends before it starts, even on its first write.
func TestFirstWriteEndsAfterItStarts(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		started, completed := int64(20), int64(10)
		k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "m", Status: transcript.Complete,
			StartedAt: &started, CompletedAt: &completed}))
		if got := k.stored(s.ID); len(got) != 1 || *got[0].StartedAt > *got[0].CompletedAt {
			t.Errorf("stored %+v", got)
		}
	})
}
