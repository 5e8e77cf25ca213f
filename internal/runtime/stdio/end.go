package stdio

import (
	"context"
	"fmt"

	"harness/internal/runtime"
)

// EndedError says that a caller had a process killed (Supervisor.End), and why.
type EndedError struct{ Reason string }

// Error implements error.
func (e *EndedError) Error() string { return "it was ended: " + e.Reason }

// End kills the process that runs now, with all that it started, and returns when nothing more comes from it. Without a
// process it does nothing. runtime.ErrTimeout when the process is not gone in time.
func (s *Supervisor) End(ctx context.Context, reason string) error {
	c := s.Current()
	if c == nil {
		return nil
	}
	select {
	case c.ending <- &EndedError{reason}:
	default: // another caller has asked for that
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the %s process does not end: %w", runtime.ErrTimeout, s.name, ctx.Err())
	}
}
