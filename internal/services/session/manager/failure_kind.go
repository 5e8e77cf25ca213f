package manager

import (
	"cmp"
	"context"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// failureKind is what a stored turn failed with (runtime.TurnCompleted.Kind), nil when it did not fail or nobody can
// tell. It follows from what is stored of the turn, so that it is the same after a restart.
func (s *Service) failureKind(ctx context.Context, turn turnRow) (error, error) {
	if turn.status != runtime.TurnFailed {
		return nil, nil
	}
	described := wire.ReadTurn(turn.native)
	described.Error = cmp.Or(described.Error, turn.failure)
	sess, err := s.stored(ctx, turn.sessionID)
	if session.Absent(err) {
		return described.Kind, nil
	}
	if err != nil {
		return nil, err
	}
	adapter, err := s.adapter(sess.Runtime)
	if err != nil {
		return described.Kind, nil // a runtime this server does not have tells no more
	}
	if reader, tells := adapter.(runtime.FailureReader); tells {
		return reader.FailureKind(described), nil
	}
	return described.Kind, nil
}
