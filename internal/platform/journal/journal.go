package journal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/ids"
	"harness/internal/lib/wake"
	"harness/internal/platform/database"
)

// Unit is one change of state together with its events. It runs inside the writer's transaction, alone, after
// every change committed before it: a read followed by a write in a Unit is a compare-and-set. It may run more
// than once (when another unit of the same batch failed), so its only effects must go through tx. Returning an
// error undoes it.
type Unit func(ctx context.Context, tx database.Tx) ([]Event, error)

// Done gets the outcome of a submitted unit after the commit, and after subscribers got the records. The next
// units wait for it: it must not block. Units after this one may have run already.
type Done func(records []Record, err error)

// Subscriber is handed committed records in pos order, without gaps or repeats, from one goroutine. It must not block,
// and must not call Subscribe or a cancel function.
type Subscriber func(records []Record)

// ErrStopped means that the journal was stopped; nothing was written.
var ErrStopped = errors.New("journal is stopped")

// Options configure a Journal.
type Options struct {
	Logger zerolog.Logger
	// Gather bounds how long a unit of SubmitOpen waits for others (default 2 ms). Any other unit never waits.
	Gather time.Duration
	// Queue bounds the units waiting for the writer (default 1024); a full queue slows its producers.
	Queue int
	// PollInterval is how often a Postgres store is polled for other processes' events (default 250 ms). SQLite has no
	// other process.
	PollInterval time.Duration
	// Upcast, when set, brings an event written in an older schema version to SchemaVersion.
	Upcast func(version int, event Event) Event
	// Origin, when set, returns the actor and the trace from a unit's context. It does not replace fields that an event
	// sets.
	Origin func(ctx context.Context) Origin
	// Before, when set, gets the events of a transaction within it, before they are stored; first is the
	// position of the first of them. Their sequence numbers are not set yet. Its error undoes the transaction,
	// as one of a unit.
	Before func(ctx context.Context, tx database.Tx, first int64, events []Record) error
	// TraceOf, when set, returns the W3C trace of a turn ("" for none), which applies to its events without a
	// trace of their own.
	TraceOf func(sessionID, turnID string) (traceID, spanID string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Hooks are called as things happen.
	Hooks Hooks
	// Recorded, when set, makes the event that an outage of the store is kept as: it is stored with the first events after
	// it.
	Recorded func(over OutageError, until time.Time) Event
	// CheckOwned, when set on Postgres, checks within a transaction that this process still holds its node. It is
	// called only after CountTakeover; its error refuses all units, and nothing of theirs is written.
	CheckOwned func(ctx context.Context, tx database.Tx) error
	// Barrier, on Postgres, keeps what is read from being shown before it survives what a commit survives, the loss of the
	// primary where there is a synchronous standby. It is for a store that other processes write, too.
	Barrier bool
	// Archived keeps events from being pruned that are in no archive yet.
	Archived bool
	// EarlyRelease reports whether to release the head's lock before a batch is durable, when others write,
	// too. Writers then wait for each other's transactions but not for each other's standby. All of them must
	// have a Barrier. Subscribers get a batch no sooner for it. nil: never.
	EarlyRelease func() bool
}

// Hooks are functions that a Journal calls; each may be nil. They must not block.
type Hooks struct {
	// Observe gets the size and duration of every committed batch. Refused is called each time the store refuses
	// one.
	Observe func(units, events int, took time.Duration)
	Refused func()
	// Damaged gets the position of a row that is not as it was written, each time one is read.
	Damaged func(pos int64)
	// Announce is called after events of this process were committed.
	Announce func()
	// OnEphemeral gets the ephemeral events of this process as they are published, and the position they
	// follow. It must not change them.
	OnEphemeral func(after int64, events []Event)
}

// Origin is the source of a change: its actor, the actor's role, and the W3C trace. Empty members are unknown.
type Origin struct{ Actor, Role, TraceID, SpanID string }

// Journal is the event log of one store. Make it with New, then Start it.
type Journal struct {
	reader
	fanout
	pruning
	outages

	db   *database.DB
	opts Options

	queue   chan *submission
	pollNow wake.Signal // records of other writers must be read now

	lifecycle sync.Mutex
	started   bool
	stopOnce  sync.Once
	stopping  chan struct{} // closed first by Stop: no new units
	sealed    chan struct{} // closed when no producer can add a unit: an empty queue stays empty
	cancel    context.CancelFunc
	finished  chan struct{} // closed when the writer has ended

	producers sync.RWMutex // held (shared) while a producer hands over a unit

	// batchPrefix and batches name each transaction of this writer, so that one whose answer was lost is recognised.
	batchPrefix string
	batches     int64
	takeovers   int64        // known to the writer; -1 before it is read
	took        atomic.Int64 // by the last commit, ns

	syncing     chan *committed // batches on their way to the disk, for the publisher
	underWay    atomic.Int64    // batches there, or about to be
	unpublished atomic.Int64    // batches being written, or written and not yet published
	alone       bool            // the writer's: nothing else was to be written while the last batch was synced
	// runs and syncs are the recent durations of transactions and their syncs, ns.
	runs, syncs atomic.Int64

	own int64 // the writer's: the head after its last batch
}

// submission is a unit on its way. Its caller may leave while it is waiting; once it runs, its outcome is waited for.
type submission struct {
	ctx       context.Context //nolint:containedctx // a queued unit carries its caller's deadline and trace to the writer
	unit      Unit
	done      Done
	whole     <-chan struct{} // closed when a unit that takes more expects no more; nil for any other
	ephemeral []Event         // instead of a unit: passed on, not stored
	state     atomic.Int32
}

const (
	unitWaiting int32 = iota
	unitRunning
	unitLeft
)

// claim is the writer's: false means the caller has left.
func (s *submission) claim() bool {
	return s.state.Load() == unitRunning || s.state.CompareAndSwap(unitWaiting, unitRunning)
}

// park is the writer's between two runs: what the unit did is rolled back, and its caller may leave.
func (s *submission) park() { s.state.CompareAndSwap(unitRunning, unitWaiting) }

// leave is the caller's: false means the unit runs.
func (s *submission) leave() bool { return s.state.CompareAndSwap(unitWaiting, unitLeft) }

// New makes a journal over a migrated store.
func New(db *database.DB, opts Options) *Journal {
	if opts.Gather <= 0 {
		opts.Gather = 2 * time.Millisecond
	}
	if opts.Queue <= 0 {
		opts.Queue = 1024
	}
	if opts.PollInterval <= 0 {
		opts.PollInterval = 250 * time.Millisecond
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	j := &Journal{
		reader: reader{db: db, upcast: opts.Upcast, onDamaged: opts.Hooks.Damaged},
		fanout: fanout{subscribers: map[int]Subscriber{}, ephemeral: map[int]EphemeralSubscriber{},
			onEphemeral: opts.Hooks.OnEphemeral},
		pruning: pruning{db: db, now: opts.Now, archived: opts.Archived},
		outages: outages{db: db, now: opts.Now, logger: opts.Logger, onRefused: opts.Hooks.Refused,
			recorded: opts.Recorded},
		db: db, opts: opts,
		queue:       make(chan *submission, opts.Queue),
		pollNow:     wake.New(),
		stopping:    make(chan struct{}),
		sealed:      make(chan struct{}),
		takeovers:   -1,
		batchPrefix: ids.New() + "/",
		finished:    make(chan struct{}),
	}
	if opts.Barrier && db.Engine() == database.Postgres {
		j.barrier = newBarrier()
	}
	return j
}

// Start reads the head and begins writing. Units may be submitted before; they wait. Calling it twice is allowed; after
// Stop it returns ErrStopped.
func (j *Journal) Start(ctx context.Context) error {
	j.lifecycle.Lock()
	defer j.lifecycle.Unlock()
	select {
	case <-j.stopping:
		return ErrStopped
	default:
	}
	if j.started {
		return nil
	}
	_, head, err := j.Bounds(ctx)
	if err != nil {
		return err
	}
	j.head.Store(head)
	writerCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j.cancel = cancel
	j.started = true
	go j.run(writerCtx)
	return nil
}

// Stop refuses new units, commits those already accepted, and waits for the writer, at most until ctx ends: then the
// writer is cut off and the rest gets ErrStopped. Calling it twice is allowed.
func (j *Journal) Stop(ctx context.Context) error {
	j.stopOnce.Do(func() {
		close(j.stopping) // producers that wait for room leave
		j.producers.Lock()
		close(j.sealed)
		j.producers.Unlock()
	})
	j.lifecycle.Lock()
	if !j.started {
		j.started = true // there is no writer to wait for
		j.cancel = func() {}
		j.refuseQueued()
		close(j.finished)
	}
	cancel := j.cancel
	j.lifecycle.Unlock()

	select {
	case <-j.finished:
		return nil
	case <-ctx.Done():
		cancel()
		<-j.finished
		return ctx.Err()
	}
}

// Pending reports whether more records follow soon: a unit is being written, or is queued. It is a hint: it may miss a
// unit that the writer is taking from the queue.
func (j *Journal) Pending() bool { return j.unpublished.Load() > 0 || len(j.queue) > 0 }

// Stopping is closed when the journal stops to accept units.
func (j *Journal) Stopping() <-chan struct{} { return j.stopping }

// Submit queues a unit and returns; units submitted one after the other commit in that order. It blocks while the queue
// is full, until ctx ends. done (may be nil) learns the outcome. It returns ErrStopped or ctx's error when the unit was
// not queued.
func (j *Journal) Submit(ctx context.Context, unit Unit, done Done) error {
	if done == nil {
		done = func([]Record, error) {}
	}
	return j.submit(&submission{ctx: ctx, unit: unit, done: done})
}

// SubmitOpen is Submit of a unit that others join until it runs: whole is closed when no other is expected to.
// While nothing else is queued the writer waits for whole, but for at most half of the last commit's duration,
// and Options.Gather: a commit is saved when two units become one.
func (j *Journal) SubmitOpen(ctx context.Context, unit Unit, done Done, whole <-chan struct{}) error {
	return j.submit(&submission{ctx: ctx, unit: unit, done: done, whole: whole})
}

func (j *Journal) submit(s *submission) error {
	j.producers.RLock()
	defer j.producers.RUnlock()
	select {
	case <-j.stopping:
		return ErrStopped
	default:
	}
	select {
	case j.queue <- s:
		return nil
	default:
		return j.awaitRoom(s)
	}
}

func (j *Journal) awaitRoom(s *submission) error {
	var impatient <-chan time.Time
	timer := patience(s.ctx)
	if timer != nil {
		defer timer.Stop()
		impatient = timer.C
	}
	for {
		select {
		case j.queue <- s:
			return nil
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-j.stopping:
			return ErrStopped
		case <-impatient:
			if o := j.Outage(); o != nil {
				return o
			}
			timer.Reset(pollAgain)
		}
	}
}

// Commit runs a unit and waits until it is committed and published. When ctx ends first, a unit that still waits is not
// run and ctx's error returned; one that runs is waited for, so what it captured is never touched behind its caller's
// back. While the store refuses, a unit is run again and again, and waits in between: a caller that is Patient for
// shorter leaves then, with *OutageError, and nothing is stored, unless the connection broke during the unit's commit.
func (j *Journal) Commit(ctx context.Context, unit Unit) ([]Record, error) {
	type outcome struct {
		records []Record
		err     error
	}
	result := make(chan outcome, 1)
	s := &submission{ctx: ctx, unit: unit, done: func(records []Record, err error) { result <- outcome{records, err} }}
	if err := j.submit(s); err != nil {
		return nil, err
	}
	out, err := await(ctx, j, result, s.leave)
	if err != nil {
		return nil, err
	}
	return out.records, out.err
}

// Attribute notes in events where they come from (Options.Origin), for units that gather the changes of several
// callers.
func (j *Journal) Attribute(ctx context.Context, events []Event) {
	if j.opts.Origin == nil {
		return
	}
	origin := j.opts.Origin(ctx)
	for i := range events {
		events[i].attribute(origin)
	}
}

// Append commits events that come with no other change of state.
func (j *Journal) Append(ctx context.Context, events ...Event) ([]Record, error) {
	return j.Commit(ctx, func(context.Context, database.Tx) ([]Event, error) { return events, nil })
}
