package manager

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// makeRoom keeps the view from growing with every session ever touched. A thread may go only when the store says the
// same of it: that is so once everything queued before is committed, which an empty unit finds out.
func (s *Service) makeRoom(ctx context.Context) {
	spare := s.index.Spare()
	if len(spare) == 0 {
		return
	}
	nothing := func(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }
	err := s.journal.Submit(ctx, nothing, func(_ []journal.Record, err error) {
		if err == nil {
			s.index.Evict(spare)
		}
	})
	if err != nil && !expected(err) {
		s.opts.Logger.Debug().Err(err).Msg("sessions nobody looks at stay in memory for now")
	}
}
