package stdio

import (
	"context"
	"fmt"

	"harness/internal/runtime"
)

// EndedError means that a caller ended a process (Supervisor.End). It has the reason.
type EndedError struct{ Reason string }

// Error implements error.
func (e *EndedError) Error() string { return "it was ended: " + e.Reason }

// End kills the current process with all its children, and returns after the last output. Without a process it does
// nothing. It returns runtime.ErrTimeout when the process does not exit in time.
func (s *Supervisor) End(ctx context.Context, reason string) error {
	c := s.Current()
	if c == nil {
		return nil
	}
	select {
	case c.ending <- &EndedError{reason}:
	default: // another caller has already requested it
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the %s process does not end: %w", runtime.ErrTimeout, s.name, ctx.Err())
	}
}
