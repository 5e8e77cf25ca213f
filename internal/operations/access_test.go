package operations_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/queue/jobs"
	"harness/tests/dbtest"
	"harness/tests/sessiontest"
)

// The allowed operations of each session: none on a deleted one, few on a worker's or an unknown one, and on another
// node's those that do not need its runtime.
func TestOperationsBySession(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	s, _ := openScripted(t, db)
	ctx := t.Context()
	create := func(system bool) string {
		t.Helper()
		made, err := s.sessions.Create(ctx, session.Create{SystemOwned: system})
		s.do(err)
		return made.ID
	}
	mine, system, gone := create(false), create(true), create(false)
	if _, err := s.Delete(ctx, gone); err != nil {
		t.Fatal(err)
	}
	elsewhere := operations.New(
		operations.Options{
			Sessions: sessiontest.Parts(manager.New(manager.Options{Journal: s.journal, DB: db,
				NodeOptions: manager.NodeOptions{NodeID: "other"}, Logger: zerolog.Nop()}))})
	const notSystem, known, owned, all = 1, 2, 4, 7
	for op, want := range map[operations.Operation]int{
		operations.Read: known, operations.Upsert: known,
		operations.ReadControls: notSystem | known, operations.EditControls: notSystem | known,
		operations.StoreSuggested: notSystem | known, operations.Rename: all, operations.Archive: all,
		operations.Unarchive: all, operations.Resume: all, operations.Delete: all, operations.Send: all,
		operations.Suggest: all, "an unknown operation": all, operations.Interrupt: notSystem | owned,
		operations.Steer: notSystem | owned, operations.Fork: notSystem | owned, operations.Compact: notSystem | owned,
		operations.CleanTerminals: notSystem | owned, operations.RollBack: all, operations.Rewind: all,
		operations.Review: notSystem | owned, operations.AssignProject: notSystem, operations.ListRequests: notSystem,
	} {
		var (
			deleted  *session.DeletedError
			reserved *operations.SystemSessionError
			foreign  *session.NotOwnerError
		)
		if err := s.Check(ctx, op, mine); err != nil {
			t.Errorf("%s: %v", op, err)
		}
		if err := s.Check(ctx, op, gone); !errors.As(err, &deleted) {
			t.Errorf("%s of a deleted session: %v", op, err)
		}
		if err := s.Check(ctx, op, system); errors.As(err, &reserved) != (want&notSystem != 0) || err != nil &&
			want&notSystem == 0 {
			t.Errorf("%s of a worker's session: %v", op, err)
		}
		if err := s.Check(ctx, op, "unknown"); errors.Is(err, session.ErrNotFound) != (want&known != 0) || err != nil &&
			want&known == 0 {
			t.Errorf("%s of an unknown session: %v", op, err)
		}
		if err := elsewhere.Check(ctx, op, mine); errors.As(err, &foreign) != (want&owned != 0) || err != nil &&
			want&owned == 0 {
			t.Errorf("%s of another node's session: %v", op, err)
		}
	}
}

// Operations on the conversation of an unknown session go to the default runtime, and return its response.
func TestUnknownSessionGoesToDefaultRuntime(t *testing.T) {
	t.Parallel()
	s, _ := openScripted(t, dbtest.Open(t, database.SQLite))
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"fork":    func() error { _, err := s.Fork(ctx, "unknown"); return err },
		"compact": func() error { _, err := s.Compact(ctx, "unknown"); return err },
		"clean":   func() error { _, err := s.CleanTerminals(ctx, "unknown"); return err },
		"review":  func() error { _, err := s.Review(ctx, "unknown", operations.ReviewRequest{}); return err },
		"steer":   func() error { return s.Steer(ctx, "unknown", "t", "x") },
	} {
		if err := do(); !errors.Is(err, runtime.ErrThreadNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.RollBack(ctx, "unknown", 1); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("rollback: %v", err)
	}
	if _, err := s.Interrupt(ctx, "unknown", ""); !errors.Is(err, session.ErrNoActiveTurn) {
		t.Errorf("interrupt: %v", err)
	}
	if pending, err := s.Requests(ctx, "unknown", runtime.RequestApproval); err != nil || len(pending) != 0 {
		t.Errorf("requests: %v, %v", pending, err)
	}
}

// bare is a runtime without optional capabilities.
type bare struct{ runtime.Adapter }

// An operation that a runtime does not support is refused by name, without a call.
func TestUnsupportedOperationIsRefused(t *testing.T) {
	t.Parallel()
	a := newAgent()
	s := open(t, dbtest.Open(t, database.SQLite), func(sink func(string) runtime.Sink) runtime.Adapter {
		a.sink = sink(a.Name())
		return bare{a}
	})
	ctx := t.Context()
	one, err := s.Create(ctx, session.Create{})
	s.do(err)
	if can := runtime.CapabilitiesOf(bare{a}); can.Fork || can.Compact || can.Review || can.Steer || can.Rollback {
		t.Errorf("a runtime without capabilities reports %+v", can)
	}
	if can := runtime.CapabilitiesOf(a); !can.Fork || !can.Compact || !can.Review || !can.Steer || !can.Rollback {
		t.Errorf("a runtime with all capabilities reports %+v", can)
	}
	for operation, do := range map[string]func() error{
		runtime.OpFork:      func() error { _, err := s.Fork(ctx, one.ID); return err },
		runtime.OpCompact:   func() error { _, err := s.Compact(ctx, one.ID); return err },
		runtime.OpTerminals: func() error { _, err := s.CleanTerminals(ctx, one.ID); return err },
		runtime.OpReview:    func() error { _, err := s.Review(ctx, one.ID, operations.ReviewRequest{}); return err },
		runtime.OpSteer:     func() error { return s.Steer(ctx, one.ID, "t", "x") },
		runtime.OpRevert:    func() error { _, err := s.RollBack(ctx, one.ID, 1); return err },
	} {
		var unsupported *runtime.UnsupportedError
		if err := do(); !errors.As(err, &unsupported) || unsupported.Operation != operation {
			t.Errorf("%s: %v", operation, err)
		}
	}
}

// Locked defaults and a disabled queue are reported after problems with the session.
func TestLockedDefaultsAndDisabledQueueAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := openScripted(t, dbtest.Open(t, database.SQLite), func(o *operations.Options) {
		o.DefaultsLocked, o.Jobs, o.Suggester, o.Suggestions = true, nil, nil, nil
	})
	ctx := t.Context()
	one, err := s.Create(ctx, session.Create{})
	s.do(err)
	var locked *operations.LockedError
	key := "k"
	_, err = s.EditSettings(ctx, one.ID, operations.ScopeDefault,
		operations.SettingsEdit{Key: &key, Value: json.RawMessage("1")}, operations.Audit{})
	if !errors.As(err, &locked) || locked.Defaults.ApprovalPolicy != "untrusted" {
		t.Errorf("locked defaults: %v", err)
	}
	if _, err := s.DeleteSetting(ctx, "unknown", operations.ScopeDefault, key, operations.Audit{}); !errors.Is(err,
		session.ErrNotFound) {
		t.Errorf("locked defaults beside an unknown session: %v", err)
	}
	_, suggest := s.Suggest(ctx, one.ID, operations.SuggestionWish{})
	_, list := s.Jobs(ctx, "p", "")
	_, store := s.StoreSuggestion(ctx, one.ID, "k", jobs.Suggestion{Status: jobs.SuggestionStreaming})
	for _, err := range []error{suggest, list, store} {
		if !errors.Is(err, operations.ErrQueueOff) {
			t.Errorf("without a queue: %v", err)
		}
	}
	if _, err := s.Suggest(ctx, "unknown", operations.SuggestionWish{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("without a queue, of an unknown session: %v", err)
	}
}
