package main

import (
	"context"

	"harness/api"
	"harness/queue"
)

// startQueue runs jobs from here on. With ORCHESTRATOR_QUEUE_ENABLED=false there is no queue and its routes answer 503.
func (s *Server) startQueue(ctx context.Context) error {
	if !s.cfg.Queue.Enabled {
		return nil
	}
	settings := s.cfg.Queue
	s.queue = queue.New(queue.Options{
		Journal: s.journal, DB: s.db, NodeID: s.dir.nodeID,
		Policy: queue.Policy{
			Concurrency: settings.GlobalConcurrency, MaxGlobal: settings.MaxGlobal, MaxPerProject: settings.MaxPerProject,
			MaxAttempts: settings.MaxAttempts, BackgroundAging: settings.BackgroundAging, MaxBurst: settings.MaxInteractiveBurst,
			DefaultTimeout: settings.DefaultTimeout,
		},
		Definitions: s.jobDefinitions(),
		Logger:      s.log.With().Str("room", "queue").Logger(),
	})
	return s.queue.Start(ctx)
}

// jobDefinitions are the types of jobs this server runs.
func (s *Server) jobDefinitions() []queue.Definition { return nil }

func (s *Server) stopQueue(ctx context.Context) error {
	if s.queue == nil {
		return nil
	}
	return s.queue.Stop(ctx)
}

// jobs is the queue as the routes know it, nil while it is off.
func (s *Server) jobs() api.Jobs {
	if s.queue == nil {
		return nil
	}
	return s.queue
}
