package manager

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session/background"
)

// backgroundUnit stores a report of a session's background work that its runtime sent unprompted. Service.order is
// held.
func (s *Service) backgroundUnit(runtimeName string, signal runtime.Signal, change runtime.BackgroundChanged) journal.Unit {
	a := s.prepareSignal(runtimeName, signal)
	s.background.Said(signal.ThreadID, len(change.Tasks) > 0)
	news := background.Report{SessionID: signal.ThreadID, Generation: signal.Generation, Tasks: change.Tasks, At: a.receivedAt}
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		mine, err := s.Ownership.Mine(ctx, tx, signal.ThreadID, a.thread.Epoch)
		if err != nil || !mine || a.thread.Deleted {
			return nil, err
		}
		return s.Monitor.StoreBackground(ctx, tx, news)
	}
}
