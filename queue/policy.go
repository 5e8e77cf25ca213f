package queue

import (
	"errors"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// Policy holds the limits of the queue (ORCHESTRATOR_QUEUE_*).
type Policy struct {
	// Concurrency is the maximum number of jobs that run concurrently in the whole store; a project never runs more
	// than one.
	Concurrency int
	// MaxGlobal and MaxPerProject limit the number of queued and running jobs.
	MaxGlobal, MaxPerProject int
	// MaxAttempts is the maximum number of attempts per job.
	MaxAttempts int
	// BackgroundAging is the age from which a background job passes interactive ones after MaxBurst of them.
	BackgroundAging time.Duration
	MaxBurst        int
	// DefaultTimeout bounds an attempt if its definition sets no timeout.
	DefaultTimeout time.Duration
	// Retention is the number of final jobs that a project keeps.
	Retention int
	// CancelGrace is the time that a canceled or timed-out handler has to return.
	CancelGrace time.Duration
}

// DefaultPolicy returns codex-manager's defaults.
func DefaultPolicy() Policy {
	return Policy{Concurrency: 2, MaxGlobal: 500, MaxPerProject: 100, MaxAttempts: 2, BackgroundAging: 15 * time.Second,
		MaxBurst: 3, DefaultTimeout: time.Minute, Retention: 200, CancelGrace: 1500 * time.Millisecond}
}

func (p Policy) withDefaults() Policy {
	d := DefaultPolicy()
	for _, field := range []struct{ value, fallback *int }{
		{&p.Concurrency, &d.Concurrency}, {&p.MaxGlobal, &d.MaxGlobal}, {&p.MaxPerProject, &d.MaxPerProject},
		{&p.MaxAttempts, &d.MaxAttempts}, {&p.MaxBurst, &d.MaxBurst}, {&p.Retention, &d.Retention},
	} {
		if *field.value <= 0 {
			*field.value = *field.fallback
		}
	}
	if p.DefaultTimeout <= 0 {
		p.DefaultTimeout = d.DefaultTimeout
	}
	if p.CancelGrace <= 0 {
		p.CancelGrace = d.CancelGrace
	}
	return p
}

// Candidate is the oldest ready job of one priority and one node, in a project without a running job.
type Candidate struct {
	ID        string
	ProjectID string
	Priority  Priority
	CreatedAt int64
	// Node is the other node to which the job is left, "" for a job that may run here.
	Node string
	// Burst counts the interactive jobs that the project started since its last background job.
	Burst int
}

// Pick chooses the next job to start at now (ms). Each project first selects one of its jobs. Then forced jobs precede
// interactive ones, interactive ones precede background ones, and older ones precede younger ones. An aged background
// job is forced once its project ran a full burst of interactive ones. Pick is a pure function; candidates hold at most
// one job per project, priority and node. It returns false if there is no candidate.
func (p Policy) Pick(candidates []Candidate, now int64) (Candidate, bool) {
	var (
		best     Candidate
		bestRank int
		found    bool
	)
	for _, c := range candidates {
		rank, ok := p.rank(c, candidates, now)
		if !ok {
			continue
		}
		if !found || rank < bestRank || (rank == bestRank && before(c, best)) {
			best, bestRank, found = c, rank, true
		}
	}
	return best, found
}

const (
	rankForced = iota
	rankInteractive
	rankBackground
)

// rank returns the candidate's class across projects; false when its project prefers another job.
func (p Policy) rank(c Candidate, all []Candidate, now int64) (int, bool) {
	if c.Priority == Background && p.forced(c, now) {
		return rankForced, true
	}
	for _, other := range all {
		if other.ProjectID != c.ProjectID || other.Priority == c.Priority {
			continue
		}
		if c.Priority == Background || p.forced(other, now) {
			return 0, false
		}
	}
	if c.Priority == Interactive {
		return rankInteractive, true
	}
	return rankBackground, true
}

func (p Policy) forced(c Candidate, now int64) bool {
	return c.Priority == Background && now-c.CreatedAt >= p.BackgroundAging.Milliseconds() && c.Burst >= p.MaxBurst
}

func before(a, b Candidate) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt < b.CreatedAt
	}
	return a.ID < b.ID
}

// transient wraps an error and keeps its message.
type transient struct{ error }

// Transient wraps the error of an attempt that may succeed on a retry.
func Transient(err error) error { return transient{err} }

// Unwrap makes errors.Is match the wrapped error.
func (t transient) Unwrap() error { return t.error }

// Retryable is the shared classification of an attempt's error. It accepts timeouts, and transient failures of the
// store, a runtime, or its conversations.
func Retryable(err error) bool {
	if errors.As(err, new(transient)) || database.Transient(err) {
		return true
	}
	for _, passing := range []error{ErrTimeout, runtime.ErrTransient, runtime.ErrTimeout, runtime.ErrThreadNotFound} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var timed interface{ Timeout() bool }
	return errors.As(err, &timed) && timed.Timeout()
}

// Limits of BackoffDelay.
const (
	backoffBase = 100 * time.Millisecond
	backoffMax  = 30 * time.Second
)

// BackoffDelay returns the wait after the n-th attempt: 100 ms, doubled each time, at most 30 s.
func BackoffDelay(attempt int) time.Duration {
	if attempt > 9 {
		return backoffMax
	}
	return min(backoffMax, backoffBase<<max(0, attempt-1))
}

// LinearDelay returns the wait that agents use: 0, 60, 120 ms and so on after the first, second, third attempt.
func LinearDelay(attempt int) time.Duration {
	return time.Duration(max(0, attempt-1)) * 60 * time.Millisecond
}
