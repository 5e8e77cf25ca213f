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

// Done gets the outcome of a submitted unit after the commit, and after subscribers got the records. The next units
// wait for it, so it must not block. Later units may already have run.
type Done func(records []Record, err error)

// Subscriber gets committed records in pos order, without gaps or repeats, from one goroutine. It must not block, and
// must not call Subscribe or a cancel function.
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
	// Before, when set, runs within a transaction and gets its events before they are stored; first is the position of
	// the first event. Their sequence numbers are not set yet. Its error undoes the transaction, as a unit's error
	// does.
	Before func(ctx context.Context, tx database.Tx, first int64, events []Record) error
	// TraceOf, when set, returns the W3C trace of a turn ("" for none), which applies to its events without a
	// trace of their own.
	TraceOf func(sessionID, turnID string) (traceID, spanID string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Hooks are called as things happen.
	Hooks Hooks
	// Recorded, when set, returns the event that records an outage of the store. It is stored with the first events
	// after the outage.
	Recorded func(over OutageError, until time.Time) Event
	// CheckOwned, when set on Postgres, checks within a transaction that this process still holds its node. It is
	// called only after CountTakeover; its error refuses all units, and none of their changes is written.
	CheckOwned func(ctx context.Context, tx database.Tx) error
	// Barrier, on Postgres, delays the results of reads until they survive what a commit survives: the loss of the
	// primary, where there is a synchronous standby. It is for a store that other processes also write to.
	Barrier bool
	// Archived keeps events that are in no archive yet from being pruned.
	Archived bool
	// EarlyRelease reports whether to release the head's lock before a batch is durable, when other processes also
	// write. Writers then wait for each other's transactions but not for each other's standby. All writers must have a
	// Barrier. Subscribers do not get a batch any sooner. nil means never.
	EarlyRelease func() bool
}

// Hooks are functions that a Journal calls; each may be nil. They must not block.
type Hooks struct {
	// Observe gets the size and duration of every committed batch. Refused is called each time the store refuses a
	// batch.
	Observe func(units, events int, took time.Duration)
	Refused func()
	// Damaged gets the position of a damaged row, each time one is read.
	Damaged func(pos int64)
	// Announce is called after this process committed events.
	Announce func()
	// OnEphemeral gets the ephemeral events of this process when they are published, and the position they follow. It
	// must not change them.
	OnEphemeral func(after int64, events []Event)
}

// Origin is the source of a change: its actor, the actor's role, the W3C trace, and the actor's display name, which
// events do not have. Empty members are unknown.
type Origin struct{ Actor, Role, TraceID, SpanID, Name string }

// Journal is the event log of one store. Make it with New, then Start it.
type Journal struct {
	reader
	fanout
	pruning
	outages

	db   *database.DB
	opts Options

	queue   chan *submission
	pollNow wake.Signal // records of other writers must be read

	lifecycle sync.Mutex
	started   bool
	stopOnce  sync.Once
	stopping  chan struct{} // Stop closes it first: no new units
	sealed    chan struct{} // closed when no producer can add a unit, so that an empty queue stays empty
	cancel    context.CancelFunc
	finished  chan struct{} // closed when the writer has ended

	producers sync.RWMutex // held (shared) while a producer hands over a unit

	// batchPrefix and batches name each transaction of this writer, to recognize one whose answer was lost.
	batchPrefix string
	batches     int64
	takeovers   int64        // as the writer knows it; -1 before it is read
	took        atomic.Int64 // duration of the last commit, ns

	syncing     chan *committed // batches being synced, for the publisher
	underWay    atomic.Int64    // batches being synced, or about to be
	unpublished atomic.Int64    // batches being written, or written and not yet published
	alone       bool            // set by the writer: nothing else was pending while the last batch was synced
	// runs and syncs are the recent durations of transactions and their syncs, ns.
	runs, syncs atomic.Int64

	own int64 // set by the writer: the head after its last batch
}

// submission is a unit between Submit and its outcome. Its caller may leave while the unit waits; once it runs, the
// caller waits for its outcome.
type submission struct {
	ctx       context.Context //nolint:containedctx // a queued unit carries its caller's deadline and trace to the writer
	unit      Unit
	done      Done
	whole     <-chan struct{} // closed when an open unit expects no more changes; nil for any other unit
	ephemeral []Event         // set instead of a unit: passed on, not stored
	state     atomic.Int32
}

const (
	unitWaiting int32 = iota
	unitRunning
	unitLeft
)

// claim is called by the writer; false means the caller has left.
func (s *submission) claim() bool {
	return s.state.Load() == unitRunning || s.state.CompareAndSwap(unitWaiting, unitRunning)
}

// park is called by the writer between two runs: the unit's changes are rolled back, and its caller may leave.
func (s *submission) park() { s.state.CompareAndSwap(unitRunning, unitWaiting) }

// leave is called by the caller; false means the unit is running.
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

// Start reads the head and starts writing. Units submitted before Start wait. Calling it twice is allowed; after Stop
// it returns ErrStopped.
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

// Stop refuses new units, commits the accepted ones, and waits for the writer until ctx ends. Then it cancels the
// writer, and the rest get ErrStopped. Calling it twice is allowed.
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

// Pending reports whether more records follow soon, because a unit is being written or is queued. It is a hint: it may
// miss a unit that the writer is just taking from the queue.
func (j *Journal) Pending() bool { return j.unpublished.Load() > 0 || len(j.queue) > 0 }

// Stopping is closed when the journal stops accepting units.
func (j *Journal) Stopping() <-chan struct{} { return j.stopping }

// Submit queues a unit and returns; units submitted one after the other commit in that order. It blocks while the queue
// is full, until ctx ends. done (may be nil) gets the outcome. It returns ErrStopped or ctx's error when the unit was
// not queued.
func (j *Journal) Submit(ctx context.Context, unit Unit, done Done) error {
	if done == nil {
		done = func([]Record, error) {}
	}
	return j.submit(&submission{ctx: ctx, unit: unit, done: done})
}

// SubmitOpen is Submit for a unit that other callers may join until it runs; whole is closed when no other caller is
// expected. While nothing else is queued, the writer waits for whole, up to half of the last commit's duration and up
// to Options.Gather. When two units become one, a commit is saved.
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

// Commit runs a unit and waits until it is committed and published. If ctx ends first, Commit returns ctx's error and
// does not run a unit that still waits. It waits for a unit that runs, so the unit's captured variables are never
// touched after Commit returns. While the store refuses writes, Commit retries the unit, with pauses. A caller that is
// Patient for a shorter time then gets *OutageError and nothing is stored, unless the connection broke during the
// unit's commit.
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

// Do is Commit for a caller that needs no records.
func (j *Journal) Do(ctx context.Context, unit Unit) error {
	_, err := j.Commit(ctx, unit)
	return err
}

// Attribute sets the origin of events (Options.Origin), for units that gather the changes of several callers.
func (j *Journal) Attribute(ctx context.Context, events []Event) {
	if j.opts.Origin == nil {
		return
	}
	origin := j.opts.Origin(ctx)
	for i := range events {
		events[i].attribute(origin)
	}
}

// Append commits events that involve no other change of state.
func (j *Journal) Append(ctx context.Context, events ...Event) ([]Record, error) {
	return j.Commit(ctx, func(context.Context, database.Tx) ([]Event, error) { return events, nil })
}
