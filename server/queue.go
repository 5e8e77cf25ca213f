package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
	"harness/internal/services/session/manager"
	"harness/queue"
	"harness/queue/jobs"
)

// jobQueue is the queue with the parts that its jobs need.
type jobQueue struct {
	*core
	*queue.Queue
	workers     *jobs.Workers
	suggestions *jobs.Suggestions
	suggester   *jobs.Suggester
	// actions executes the actions that workers request; the extensions set it before the queue starts. nil refuses
	// them.
	actions jobs.ActionExecutor
	// policies returns how an agent's workers run; the extensions set it before the queue starts.
	policies jobs.Policies
}

// workerTurns is the maximum number of turns in a worker's session: with more turns, each job reads a longer history.
const workerTurns = 200

// Start starts to run jobs. With ORCHESTRATOR_QUEUE_ENABLED=false there is no queue: its routes answer 503, and only
// suggestions of other sources are stored.
func (s *jobQueue) Start(ctx context.Context) error {
	s.suggestions = jobs.NewSuggestions(s.db, s.journal, s.sessions.Upserter, s.now)
	s.workers = jobs.NewWorkers(jobs.WorkersOptions{DB: s.db, Journal: s.journal, Sessions: jobSessions(s.sessions),
		NodeID: s.dir.NodeID, Policies: s.policies, MaxTurns: workerTurns,
		Logger: s.log.With().Str("package", "jobs").Logger()})
	s.sessions.Agents.SetWorkers(s.workers)
	s.metrics.Registry.MustRegister(newBacklog(s.readBacklog))
	if !s.cfg.Queue.Enabled {
		return nil
	}
	settings := s.cfg.Queue
	s.Queue = queue.New(queue.Options{
		Journal: s.journal, DB: s.db, NodeID: s.dir.NodeID, Clock: s.now,
		Policy: queue.Policy{
			Concurrency: settings.GlobalConcurrency, MaxGlobal: settings.MaxGlobal, MaxPerProject: settings.MaxPerProject,
			MaxAttempts: settings.MaxAttempts, BackgroundAging: settings.BackgroundAging, MaxBurst: settings.MaxInteractiveBurst,
			DefaultTimeout: settings.DefaultTimeout,
		},
		Draining:    func() bool { return s.draining() || !s.cfg.Runs() },
		Definitions: s.jobDefinitions(), LeaveRunning: s.cfg.KeepRuntimes && s.cfg.DetachGrace > 0,
		Logger: s.log.With().Str("package", "queue").Logger(),
	})
	s.metrics.Registry.MustRegister(
		unrunnableJobs{s.Queue, prometheus.NewDesc(telemetry.MetricName("queue", "unrunnable_jobs"),
			"Queued jobs of types this server does not have; they wait for one that has.", []string{"type"}, nil)})
	if settings.SuggestRequestEnabled {
		s.suggester = jobs.NewSuggester(s.suggestions, s.Queue, settings.SuggestRequestWait)
	}
	return s.Queue.Start(ctx)
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

// jobDefinitions returns the types of jobs that this server runs.
func (s *jobQueue) jobDefinitions() []queue.Definition {
	agent := s.cfg.Agent
	options := jobs.Options{
		Sessions: jobSessions(s.sessions), Journal: s.journal, Clock: s.now, Workers: s.workers, Actions: s.actions,
		Suggestions: s.suggestions, Timing: jobs.Timing{Turn: agent.TurnTimeout, Poll: agent.PollInterval,
			IncludeTurns:      agent.IncludeTurnsGrace,
			UntrustedTerminal: agent.UntrustedTerminalGrace, EmptyTurn: agent.EmptyTurnGrace},
		AttemptTimeout: s.cfg.Queue.DefaultTimeout, SuggestWait: s.cfg.Queue.SuggestRequestWait,
		SuggestEnabled: s.cfg.Queue.SuggestRequestEnabled,
		Logger:         s.log.With().Str("package", "jobs").Logger(),
	}
	return jobs.Definitions(options)
}

// Stop stops the queue and its suggestions.
func (s *jobQueue) Stop(ctx context.Context) error {
	if s.Queue == nil {
		return nil
	}
	return s.Queue.Stop(ctx)
}

// waiting is the backlog of the store, for all servers that share it.
type waiting struct {
	approvals int64
	// asked is the time (ms) of the oldest pending approval; 0 for none.
	asked int64
	jobs  queue.Backlog
	// queued and running count tasks.
	queued, running int64
}

// readBacklog reads the pending work; there are no jobs without a queue.
func (s *jobQueue) readBacklog(ctx context.Context) (w waiting, err error) {
	if outage := s.journal.Outage(); outage != nil {
		return w, outage // a status request must not wait for an unavailable store
	}
	if w.approvals, w.asked, err = s.sessions.Reader.PendingApprovals(ctx); err == nil && s.Queue != nil {
		w.jobs, err = s.Backlog(ctx)
	}
	if err == nil && s.tasks != nil {
		w.queued, w.running, err = s.tasks.Open(ctx)
	}
	return w, err
}

// backlog reports the pending work. While the store is unavailable it keeps the last value. It implements
// prometheus.Collector.
type backlog struct {
	read func(context.Context) (waiting, error)

	approvals, approvalAge, jobs, jobAge, tasks *prometheus.Desc

	mu   sync.Mutex
	last waiting
}

// backlogPatience is the time that a scrape waits for the store.
const backlogPatience = 2 * time.Second

func newBacklog(read func(context.Context) (waiting, error)) *backlog {
	desc := func(subsystem, unit, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(telemetry.MetricName(subsystem, unit), help+" All servers of one database report the same.", labels, nil)
	}
	return &backlog{read: read,
		approvals:   desc("approvals", "pending", "Approvals that wait for a decision."),
		approvalAge: desc("approvals", "oldest_seconds", "How long the oldest approval waits; 0 when none does."),
		jobs:        desc("queue", "jobs", "Jobs that wait and that run.", "state"),
		tasks:       desc("tasks", "open", "Tasks that wait and that run.", "state"),
		jobAge:      desc("queue", "oldest_seconds", "How long ago the oldest queued job was enqueued; 0 when none is."),
	}
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{b.approvals, b.approvalAge, b.jobs, b.jobAge, b.tasks} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (b *backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), backlogPatience)
	defer cancel()
	now, err := b.read(ctx)
	b.mu.Lock()
	if err == nil {
		b.last = now
	}
	now = b.last
	b.mu.Unlock()
	show := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	show(b.approvals, float64(now.approvals))
	show(b.approvalAge, age(now.asked))
	show(b.jobs, float64(now.jobs.Queued), "queued")
	show(b.jobs, float64(now.jobs.Running), "running")
	show(b.tasks, float64(now.queued), "queued")
	show(b.tasks, float64(now.running), "running")
	show(b.jobAge, age(now.jobs.Oldest))
}

// age returns how many seconds ago a time in ms was, 0 for none.
func age(at int64) float64 {
	if at == 0 {
		return 0
	}
	return max(0, time.Since(time.UnixMilli(at)).Seconds())
}

// jobSessions returns the sessions that jobs run in.
func jobSessions(s *manager.Service) jobs.Sessions {
	parts := manager.PartsOf(s)
	return jobs.Sessions{Transcripts: s.Upserter, SessionStore: parts.Sessions, Turns: parts.Turns, Conversations: parts.Requests}
}
