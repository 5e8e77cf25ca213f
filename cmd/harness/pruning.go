package main

import (
	"context"
	"sync"
	"time"
)

const pruneEvery = time.Minute

// pruning is the background part that keeps the journal at HARNESS_JOURNAL_KEEP_EVENTS.
type pruning struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (s *Server) startPruning(ctx context.Context) error {
	keep := int64(s.cfg.JournalKeepEvents)
	if keep == 0 {
		return nil
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.pruning.cancel = cancel
	s.pruning.done.Go(func() {
		ticker := time.NewTicker(pruneEvery)
		defer ticker.Stop()
		for {
			if deleted, err := s.journal.Prune(running, keep); err != nil && running.Err() == nil {
				s.log.Warn().Err(err).Msg("cannot prune the journal")
			} else if deleted > 0 {
				s.log.Info().Int64("events", deleted).Msg("pruned the journal")
			}
			select {
			case <-ticker.C:
			case <-running.Done():
				return
			}
		}
	})
	return nil
}

func (s *Server) stopPruning(context.Context) error {
	if s.pruning.cancel != nil {
		s.pruning.cancel()
	}
	s.pruning.done.Wait()
	return nil
}
