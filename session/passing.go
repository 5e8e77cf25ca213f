package session

import (
	"context"

	"harness/runtime"
)

// failureReader is a runtime that can tell from the words a turn failed with whether that may pass.
type failureReader interface{ FailurePasses(message string) bool }

// failurePasses tells whether a turn failed with something that may pass when it is tried again, as far as its runtime
// can tell.
func (s *Service) failurePasses(ctx context.Context, turn turnRow) (bool, error) {
	if turn.status != runtime.TurnFailed || turn.failure == "" {
		return false, nil
	}
	session, err := s.stored(ctx, turn.sessionID)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	adapter, err := s.adapter(session.Runtime)
	if err != nil {
		return false, nil //nolint:nilerr // a runtime this server does not have tells nothing
	}
	reader, tells := adapter.(failureReader)
	return tells && reader.FailurePasses(turn.failure), nil
}
