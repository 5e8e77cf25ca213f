package operations_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"harness/internal/operations"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// A special case precedes the general one, and a wrapped error is classified like a plain one.
func TestClassify(t *testing.T) {
	t.Parallel()
	outage := &journal.OutageError{Cause: errors.New("disk full")}
	refused := func(kind error) error { return &runtime.Error{Runtime: "codex", Message: "no", Kind: kind} }
	for _, c := range []struct {
		err   error
		code  operations.Code
		retry bool
	}{
		{errors.New("anything"), operations.CodeInternal, false},
		{&operations.UnrecordedError{Err: session.ErrNotFound}, operations.CodeInternal, false},
		{&session.UnknownError{}, operations.CodeSessionNotFound, false},
		{&session.FolderError{}, operations.CodeInvalidFolder, false},
		{&session.FolderError{SessionID: "s"}, operations.CodeFolderMissing, false},
		{outage, operations.CodeStoreRefuses, true},
		{fmt.Errorf("%w: %w", runtime.ErrTimeout, outage), operations.CodeStoreLate, false},
		{errors.Join(journal.ErrStopped, outage), operations.CodeShuttingDown, false},
		{runtime.ErrUnavailable, operations.CodeRuntimeUnavailable, false},
		{runtime.ErrProcessGone, operations.CodeRuntimeUnavailable, true},
		{context.DeadlineExceeded, operations.CodeStoreDeadline, false},
		{runtime.ErrAuthRequired, operations.CodeAuthRequired, false},
		{refused(runtime.ErrAuthRequired), operations.CodeRuntimeRefused, false},
		{refused(runtime.ErrNoActiveTurn), operations.CodeNoActiveTurn, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while it was done: %w", c.err)} {
			if f := operations.Classify(err); f.Code != c.code || f.Retry != c.retry {
				t.Errorf("%v is %s, retry %v; want %s, %v", err, f.Code, f.Retry, c.code, c.retry)
			}
		}
	}
	own := fmt.Errorf("decide: %w", errors.Join(&codedError{operations.CodeCallNotPending}, session.ErrRequestNotFound))
	if f := operations.Classify(own); f.Code != operations.CodeCallNotPending || f.Message != own.Error() {
		t.Errorf("an error with a code of its own is %+v", f)
	}
	if f := operations.Classify(refused(nil)); f.Native == nil || f.Native.Runtime != "codex" {
		t.Errorf("the refusal of a runtime is %+v", f)
	}
	unreachable := &forward.UnreachableError{NodeID: "b", RetryAfter: 2 * time.Second, Cause: errors.New("no route")}
	if f := operations.Classify(fmt.Errorf("ask: %w", unreachable)); f.RetryAfter != 2*time.Second ||
		f.Message != unreachable.Error() {
		t.Errorf("an owner that cannot be reached is %+v", f)
	}
}

type codedError struct{ code operations.Code }

func (e *codedError) Error() string         { return "refused" }
func (e *codedError) Code() operations.Code { return e.code }
