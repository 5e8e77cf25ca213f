package stdio

import (
	"context"
	"fmt"

	"harness/internal/runtime"
)

// EndedError says that a caller ended a process (Supervisor.End), and why.
type EndedError struct{ Reason string }

// Error implements error.
func (e *EndedError) Error() string { return "it was ended: " + e.Reason }

// End kills the current process with all its children, and returns when no more output comes from it. Without a process
// it does nothing. runtime.ErrTimeout when the process does not end in time.
func (s *Supervisor) End(ctx context.Context, reason string) error {
	c := s.Current()
	if c == nil {
		return nil
	}
	select {
	case c.ending <- &EndedError{reason}:
	default: // another caller has requested that
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the %s process does not end: %w", runtime.ErrTimeout, s.name, ctx.Err())
	}
}
