package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"harness/internal/lib/ids"
	"harness/internal/lib/lifecycle"
	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Options configure a Queue. Journal, DB and NodeID are required.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	// NodeID identifies this server among the servers that share the store. It stays the same after a restart, and no
	// two live processes share it.
	NodeID      string
	Policy      Policy
	Definitions []Definition
	// Lease is the time that a running job survives without a renewal by its process (default 15 s); the renewal
	// interval is a third of it. It does not depend on clocks of other nodes: a lease ends when another process
	// observed no renewal for this long.
	Lease time.Duration
	// Poll is the interval at which the queue polls the store for missed notifications (default 1 s).
	Poll time.Duration
	// Drain is the time that Stop gives running jobs to finish (default 2 s).
	Drain time.Duration
	// Draining, if set, reports that this node must not start further jobs.
	Draining func() bool
	// LeaveRunning makes Stop leave resumable jobs (Definition.Resumable) to this node's next process.
	LeaveRunning bool
	// ProgressInterval is the minimum time between two progress events of a job (default 250 ms).
	ProgressInterval time.Duration
	Logger           zerolog.Logger
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Queue is the job queue of one process. It accepts jobs; after Start it runs the jobs that it claims.
type Queue struct {
	opts        Options
	policy      Policy
	definitions registry
	owner       string
	journal     *journal.Journal
	db          *database.DB
	log         zerolog.Logger

	wake wake.Signal

	lifecycle sync.Mutex
	state     lifeState
	accepts   atomic.Bool     // whether jobs are accepted; for reads inside units, which must not lock lifecycle
	stopped   chan struct{}   // closed when Stop has finished
	running   context.Context //nolint:containedctx // of runs
	loops     lifecycle.Loops

	claiming sync.Mutex       // locked from the claim of jobs until their runs are registered
	draining bool             // guarded by claiming
	yielded  map[string]yield // by node; guarded by claiming

	leases leases // only the dispatcher uses it

	mu       sync.Mutex
	runs     map[string]*Run
	begun    map[string]int // the last attempt started here, by job, while the store shows it running
	runsDone *sync.Cond
	waiters  map[string]map[wake.Signal]struct{}
	renewed  time.Time
	handlers sync.WaitGroup

	unrunnable map[string]int
	warned     map[string]bool // unknown types that were already logged
}

type lifeState int

const (
	fresh lifeState = iota
	started
	stopping
)

// New makes a queue. It runs no job before Start.
func New(opts Options) *Queue {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	for _, field := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&opts.Lease, 15 * time.Second}, {&opts.Poll, time.Second}, {&opts.Drain, 2 * time.Second},
		{&opts.ProgressInterval, 250 * time.Millisecond}} {
		if *field.value <= 0 {
			*field.value = field.fallback
		}
	}
	q := &Queue{opts: opts, policy: opts.Policy.withDefaults(), definitions: newRegistry(opts.Definitions),
		journal: opts.Journal, db: opts.DB, log: opts.Logger, owner: uuid.NewString(), wake: wake.New(),
		stopped: make(chan struct{}), runs: map[string]*Run{}, begun: map[string]int{}, yielded: map[string]yield{},
		waiters: map[string]map[wake.Signal]struct{}{}, warned: map[string]bool{}}
	q.leases = leases{lease: q.opts.Lease, seen: map[string]observation{}}
	q.runsDone = sync.NewCond(&q.mu)
	return q
}

func (q *Queue) now() int64 { return q.opts.Clock().UnixMilli() }

func (q *Queue) decider() decider {
	return decider{policy: q.policy, definitions: q.definitions, hooks: true, newID: ids.New}
}

func (q *Queue) claimant() claimant {
	return claimant{node: q.opts.NodeID, owner: q.owner, leaseUntil: q.now() + q.opts.Lease.Milliseconds()}
}

// Start settles the jobs of an earlier process of this node and starts to run jobs. Calling it twice is allowed.
func (q *Queue) Start(ctx context.Context) error {
	q.lifecycle.Lock()
	defer q.lifecycle.Unlock()
	switch q.state {
	case started:
		return nil
	case stopping:
		return ErrShutdown
	}
	if err := q.recover(ctx); err != nil {
		return fmt.Errorf("settle the jobs an earlier run left: %w", err)
	}
	return q.loops.Start(ctx, func(running context.Context) error {
		q.running = running
		_, unsubscribe := q.journal.Subscribe(q.onRecords)
		q.loops.Go(func(running context.Context) {
			defer unsubscribe()
			q.dispatch(running)
		})
		q.loops.Go(q.renewLeases)
		q.state = started
		q.accepts.Store(true)
		return nil
	})
}

func (q *Queue) recover(ctx context.Context) error {
	return q.decide(ctx, func(ctx context.Context, tx database.Tx, d decider) ([]journal.Event, error) {
		_, events, err := d.recoverNode(ctx, tx, q.claimant(), q.now())
		return events, err
	})
}

// decide commits decisions. When a contribution fails, decide repeats the decision without contributions: they never
// delay a job, and a job that ended without them owes them.
func (q *Queue) decide(ctx context.Context, unit func(ctx context.Context, tx database.Tx, d decider) ([]journal.Event,
	error)) error {
	d := q.decider()
	commit := func() error {
		_, err := q.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return unit(ctx, tx, d)
		})
		return err
	}
	err := commit()
	var hook *hookError
	if errors.As(err, &hook) {
		q.log.Error().Err(err).Str("job", hook.job).
			Msg("a job's contributions failed; the job continues without them, and those of its end are retried")
		d.hooks = false
		return commit()
	}
	return err
}

// accepting returns an error if the queue does not accept jobs.
func (q *Queue) accepting() error {
	if !q.accepts.Load() {
		return &Error{CodeConflict, "orchestrator queue is not started"}
	}
	return nil
}

// Enqueue accepts a job or returns its duplicate. *Error gives the reason for a refusal.
func (q *Queue) Enqueue(ctx context.Context, in Request) (EnqueueResult, error) {
	var result EnqueueResult
	_, err := q.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
		result, events, err = q.EnqueueIn(ctx, tx, in)
		return events, err
	})
	if err != nil {
		return EnqueueResult{}, err
	}
	if result.MergeError != nil {
		q.log.Warn().Err(result.MergeError).Str("job", result.Job.ID).
			Msg("a duplicate could not be merged; the queued job is unchanged")
	}
	return result, nil
}

// EnqueueIn is Enqueue within the caller's journal unit. The unit must return its error unchanged.
func (q *Queue) EnqueueIn(ctx context.Context, tx database.Tx, in Request) (EnqueueResult, []journal.Event, error) {
	if err := q.accepting(); err != nil {
		return EnqueueResult{}, nil, journal.Refuse(err)
	}
	return q.decider().enqueue(ctx, tx, in, q.now())
}

// Cancel ends a queued job, or asks a running one to end. The returned job may still be running, with CancelRequestedAt
// set; it ends after the grace period at the latest, on any node. Errors are ErrNotFound and *TerminalError.
func (q *Queue) Cancel(ctx context.Context, id, reason string) (Job, error) {
	var job Job
	err := q.decide(ctx, func(ctx context.Context, tx database.Tx, d decider) (events []journal.Event, err error) {
		job, events, err = d.cancel(ctx, tx, database.EncodeText(id), reason, q.now())
		return events, err
	})
	if err != nil {
		return Job{}, err
	}
	return job, nil
}

// Job reads a job. It returns ErrNotFound if the job does not exist.
func (q *Queue) Job(ctx context.Context, id string) (Job, error) {
	return readJob(ctx, q.db.Read(), database.EncodeText(id))
}

// RunningIn returns the job that runs in a worker's session; false for none.
func (q *Queue) RunningIn(ctx context.Context, sessionID string) (Job, bool, error) {
	return runningIn(ctx, q.db.Read(), sessionID)
}

// Jobs lists a project's jobs, oldest first, in one state or in all ("").
func (q *Queue) Jobs(ctx context.Context, projectID string, state State) ([]Job, error) {
	if state == "" {
		return readJobs(ctx, q.db.Read(), `project_id = $1`, database.EncodeText(projectID))
	}
	return readJobs(ctx, q.db.Read(), `project_id = $1 and state = $2`, database.EncodeText(projectID), string(state))
}

// Counts reads the health figures.
func (q *Queue) Counts(ctx context.Context) (Counts, error) { return readCounts(ctx, q.db.Read()) }

// WaitForTerminal waits until a job ends. If ctx ends first, it returns the current job with ctx's error.
func (q *Queue) WaitForTerminal(ctx context.Context, id string) (Job, error) {
	ended := wake.New()
	q.watch(id, ended)
	defer q.unwatch(id, ended)
	tick := time.Tick(q.opts.Poll)
	for {
		job, err := q.Job(context.WithoutCancel(ctx), id)
		if err != nil || job.State.Final() {
			return job, err
		}
		select {
		case <-ended:
		case <-tick: // SQLite does not notify of changes by other processes
		case <-ctx.Done():
			return job, ctx.Err()
		}
	}
}

func (q *Queue) watch(id string, ended wake.Signal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiters[id] == nil {
		q.waiters[id] = map[wake.Signal]struct{}{}
	}
	q.waiters[id][ended] = struct{}{}
}

func (q *Queue) unwatch(id string, ended wake.Signal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiters[id], ended)
	if len(q.waiters[id]) == 0 {
		delete(q.waiters, id)
	}
}

// onRecords is the journal subscriber for events of all processes. It wakes the dispatcher and the callers that wait
// for a job.
func (q *Queue) onRecords(records []journal.Record) {
	news := false
	for _, record := range records {
		switch record.Type {
		case "orchestrator_job_completed", "orchestrator_job_failed", "orchestrator_job_canceled":
			q.notifyWaiters(record.Payload)
			news = true
		case "orchestrator_job_queued", eventCancelRequested:
			news = true
		}
	}
	if news {
		q.wake.Set()
	}
}

func (q *Queue) notifyWaiters(payload json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiters) == 0 {
		return
	}
	var job struct {
		ID string `json:"jobId"`
	}
	if err := json.Unmarshal(payload, &job); err != nil {
		return // not an event of this package
	}
	for ended := range q.waiters[job.ID] {
		ended.Set()
	}
}

func validText(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.ToValidUTF8(string(raw), "\uFFFD"))
}
