package main

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
	"harness/queue"
	"harness/queue/jobs"
)

// jobQueue is the queue with what its jobs need.
type jobQueue struct {
	*queue.Queue
	workers     *jobs.Workers
	suggestions *jobs.Suggestions
	suggester   *jobs.Suggester
	// actions executes what workers ask for; the extensions set it before the queue starts. nil refuses it.
	actions jobs.ActionExecutor
	// policies tell how an agent's workers run; the extensions set it before the queue starts.
	policies jobs.Policies
}

// startQueue runs jobs from here on. With ORCHESTRATOR_QUEUE_ENABLED=false there is no queue: its routes answer 503,
// only suggestions that others make are kept.
func (s *Server) startQueue(ctx context.Context) error {
	q := &s.queue
	q.suggestions = jobs.NewSuggestions(s.db, s.journal, s.sessions, s.now)
	q.workers = jobs.NewWorkers(jobs.WorkersOptions{DB: s.db, Journal: s.journal, Sessions: s.sessions,
		NodeID: s.dir.nodeID, Policies: q.policies, MaxTurns: s.cfg.Agent.MaxSessionTurns,
		Logger: s.log.With().Str("package", "jobs").Logger()})
	s.sessions.SetWorkers(q.workers)
	s.metrics.registry.MustRegister(newBacklog(s.readBacklog))
	if !s.cfg.Queue.Enabled {
		return nil
	}
	settings := s.cfg.Queue
	q.Queue = queue.New(queue.Options{
		Journal: s.journal, DB: s.db, NodeID: s.dir.nodeID, Clock: s.now,
		Policy: queue.Policy{
			Concurrency: settings.GlobalConcurrency, MaxGlobal: settings.MaxGlobal, MaxPerProject: settings.MaxPerProject,
			MaxAttempts: settings.MaxAttempts, BackgroundAging: settings.BackgroundAging, MaxBurst: settings.MaxInteractiveBurst,
			DefaultTimeout: settings.DefaultTimeout,
		},
		Draining:    func() bool { return s.draining() || !s.cfg.Runs() },
		Definitions: s.jobDefinitions(), LeaveRunning: s.cfg.KeepRuntimes && s.cfg.RuntimeDetach,
		Logger: s.log.With().Str("package", "queue").Logger(),
	})
	s.metrics.registry.MustRegister(
		unrunnableJobs{q.Queue, prometheus.NewDesc(telemetry.MetricName("queue", "unrunnable_jobs"),
			"Queued jobs of types this server does not have; they wait for one that has.", []string{"type"}, nil)})
	if settings.SuggestRequestEnabled {
		q.suggester = jobs.NewSuggester(q.suggestions, q.Queue, settings.SuggestRequestWait)
	}
	return q.Start(ctx)
}

// unrunnableJobs shows operators the jobs that wait for another server. It implements prometheus.Collector.
type unrunnableJobs struct {
	queue *queue.Queue
	desc  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (u unrunnableJobs) Describe(to chan<- *prometheus.Desc) { to <- u.desc }

// Collect implements prometheus.Collector.
func (u unrunnableJobs) Collect(to chan<- prometheus.Metric) {
	for name, n := range u.queue.Unrunnable() {
		to <- prometheus.MustNewConstMetric(u.desc, prometheus.GaugeValue, float64(n), strings.ToValidUTF8(name, "?"))
	}
}

// jobDefinitions are the types of jobs this server runs.
func (s *Server) jobDefinitions() []queue.Definition {
	agent := s.cfg.Agent
	options := jobs.Options{
		Sessions: s.sessions, Journal: s.journal, Clock: s.now, Workers: s.queue.workers, Actions: s.queue.actions,
		Suggestions: s.queue.suggestions, Timing: jobs.Timing{Turn: agent.TurnTimeout, Poll: agent.PollInterval,
			IncludeTurns:      agent.IncludeTurnsGrace,
			UntrustedTerminal: agent.UntrustedTerminalGrace, EmptyTurn: agent.EmptyTurnGrace},
		AttemptTimeout: s.cfg.Queue.DefaultTimeout, SuggestWait: s.cfg.Queue.SuggestRequestWait,
		SuggestEnabled: s.cfg.Queue.SuggestRequestEnabled,
		Logger:         s.log.With().Str("package", "jobs").Logger(),
	}
	return jobs.Definitions(options)
}

func (s *Server) stopQueue(ctx context.Context) error {
	if s.queue.Queue == nil {
		return nil
	}
	return s.queue.Stop(ctx)
}
