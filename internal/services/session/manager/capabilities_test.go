package manager

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/stream"
	"harness/tests/dbtest"
)

// plain is a runtime with only the mandatory capabilities. It does not steer, stores no history, names or archive,
// takes back no turns, and enforces few levels.
type plain struct{ runtime.Adapter }

func (p plain) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{Interrupt: true, Approvals: true, Sandboxes: []string{"read-only", "danger-full-access"},
		ApprovalPolicies: []string{"untrusted", "never"}, NetworkAccess: []string{"restricted", "enabled"}}
}

// eachPlain runs a test on both engines with such a runtime.
func eachPlain(t *testing.T, test func(t *testing.T, k *kit)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		test(t, openWith(t, db, "node", func(o *Options) { o.Runtimes.Adapters[0] = plain{o.Runtimes.Adapters[0]} }))
	})
}

func TestWhatARuntimeCannotDoIsRefused(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		for operation, err := range map[string]error{
			runtime.OpSteer:  k.Steer(t.Context(), s.ID, turn, "more"),
			runtime.OpRevert: func() error { _, err := k.RollBack(t.Context(), s.ID, 1); return err }(),
			runtime.OpTools: func() error {
				_, err := k.Create(t.Context(), session.Create{DynamicTools: encode([]string{"x"})})
				return err
			}(),
		} {
			var unsupported *runtime.UnsupportedError
			if !errors.As(err, &unsupported) || unsupported.Operation != operation || !errors.Is(err, runtime.ErrUnsupported) {
				t.Errorf("%s: %v", operation, err)
			}
		}
		k.end(s.ID, turn)
		if _, err := k.Send(t.Context(), s.ID, session.Message{Text: "see", Images: []string{"data:,"}}); !errors.Is(err,
			runtime.ErrUnsupported) {
			t.Errorf("an image: %v", err)
		}
	})
}

// Names and archives that a runtime does not store are stored here, and clients are still notified of them.
func TestNamesAndArchivesNeedNoRuntime(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		s := k.create()
		_, err := k.Rename(t.Context(), s.ID, "mine")
		k.do(err)
		received := k.events(stream.EventNotification)
		if got := string(received[len(received)-1].Payload); got != `{"method":"thread/name/updated","params":{"threadId":"`+s.ID+
			`","threadName":"mine"}}` {
			t.Errorf("clients received %s", got)
		}
		archived, err := k.Archive(t.Context(), s.ID)
		k.do(err)
		back, err := k.Unarchive(t.Context(), s.ID)
		k.do(err)
		if !archived.Archived || back.Archived || back.Title != "mine" {
			t.Errorf("archived %+v, back %+v", archived, back)
		}
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		if len(k.fake.deleted) != 0 {
			t.Errorf("the runtime was asked to delete %v", k.fake.deleted)
		}
	})
}

// A session is never opened with, or changed to, a level that its runtime does not enforce.
func TestLevelsThatAreNotEnforcedAreRefused(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		level := "workspace-write"
		var refused *runtime.ControlError
		check := func(what string, err error) {
			t.Helper()
			if !errors.As(err, &refused) || refused.Field != "filesystemSandbox" ||
				!slices.Equal(refused.Enforced, []string{"read-only", "danger-full-access"}) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := k.Create(t.Context(), session.Create{FilesystemSandbox: &level})
		check("create", err)
		if len(k.fake.threads) != 0 {
			t.Error("a conversation was opened all the same")
		}
		s := k.create()
		_, err = k.Send(t.Context(), s.ID, session.Message{Text: "go", FilesystemSandbox: &level})
		check("message", err)
		_, err = k.EditControls(t.Context(), s.ID,
			session.ControlEdit{Edit: func(c session.Controls) session.Controls { c.FilesystemSandbox = level; return c }})
		check("edit", err)
		if controls, _, err := k.Controls(t.Context(), s.ID); err != nil || controls.FilesystemSandbox != "read-only" {
			t.Errorf("the session has %+v, %v", controls, err)
		}
	})
}

// A message to a busy session whose runtime cannot steer waits for the turn to end; waiting messages keep their order.
func TestMessagesWaitWhereNothingSteers(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		s := k.create()
		first := k.send(s.ID)
		if _, err := k.Send(t.Context(), s.ID, session.Message{Text: "alone", Alone: true}); !errors.Is(err, runtime.ErrTurnActive) {
			t.Errorf("alone: %v", err)
		}
		gone, leave := context.WithCancel(t.Context())
		sent := make(chan string, 2)
		send := func(ctx context.Context, text string) <-chan error {
			done := make(chan error, 1)
			go func() {
				turn, err := turnOf(k.Send(ctx, s.ID, session.Message{Text: text}))
				if err == nil {
					sent <- text + " " + turn
				}
				done <- err
			}()
			return done
		}
		left := send(gone, "left")
		k.eventually("it waits", func() bool { return k.unsent(s.ID) == 1 })
		second := send(t.Context(), "second")
		k.eventually("both wait", func() bool { return k.unsent(s.ID) == 2 })
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("one who went away: %v", err)
		}
		k.end(s.ID, first)
		k.do(<-second)
		if got := <-sent; got != "second turn-2" {
			t.Errorf("sent %s", got)
		}
		k.fake.mu.Lock()
		defer k.fake.mu.Unlock()
		for _, turn := range k.fake.turns {
			if turn.ActiveTurnID != "" {
				t.Errorf("%+v was to be steered", turn)
			}
		}
	})
}

// unsent returns the number of messages of a session that wait to be sent.
func (k *kit) unsent(sessionID string) int { return k.locks.Users()["message "+sessionID] }

// A session stores the capabilities its runtime had when it was opened, and shows them.
func TestASessionKeepsItsCapabilities(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.close()
		k = open(t, k.db, k.opts.NodeID) // a runtime with more capabilities by now
		var kept, now runtime.Capabilities
		k.do(json.Unmarshal(k.read(s.ID, session.Reading{}).Session.Capabilities, &kept))
		if kept.Steer || kept.Rollback || !slices.Equal(kept.Sandboxes, []string{"read-only", "danger-full-access"}) {
			t.Errorf("it shows %+v", kept)
		}
		k.do(json.Unmarshal(k.read(k.create().ID, session.Reading{}).Session.Capabilities, &now))
		if !now.Steer || !now.Rollback || len(now.Sandboxes) != 3 {
			t.Errorf("a new one shows %+v", now)
		}
	})
}
