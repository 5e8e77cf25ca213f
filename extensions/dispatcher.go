package extensions

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions/sdk"
	"harness/internal/lib/lifecycle"
	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Journal is the part of the event log that this package uses; *journal.Journal implements it.
type Journal interface {
	Subscribe(fn journal.Subscriber) (head int64, cancel func())
	Bounds(ctx context.Context) (oldest, head int64, err error)
	Read(ctx context.Context, query journal.Query) ([]journal.Record, error)
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
	// Reading returns a context that tracks reads. Settled waits until the read rows are durable, or returns an error.
	Reading(ctx context.Context) context.Context
	Settled(ctx context.Context) error
	// Head is the last position passed to subscribers.
	Head() int64
}

// Sessions is the part of package session that synthesised events use; package server adapts it.
type Sessions interface {
	// Describe returns the stored session, or ErrSessionGone if it was deleted or never existed.
	Describe(ctx context.Context, sessionID string) (SessionInfo, error)
	// RequestPending reports whether an interactive request of a session still needs a decision.
	RequestPending(ctx context.Context, sessionID, requestID string) (bool, error)
}

// SessionInfo is the part of a session that events contain.
type SessionInfo struct {
	ID, Title   string
	ProjectID   *string
	SystemOwned bool
}

// ErrSessionGone reports that the session was deleted or is unknown.
var ErrSessionGone = errors.New("session is gone")

// DispatcherOptions configure a Dispatcher. Registry, Journal, DB, Sessions and NodeID are required.
type DispatcherOptions struct {
	Registry *Registry
	Journal  Journal
	DB       *database.DB
	Sessions Sessions
	// NodeID identifies this server among the servers that share the store; it must be the same after a restart.
	NodeID string
	// Owns, if set, reports whether this node dispatches the events of a session. The node whose runtime emitted an
	// event without a session dispatches that event. If Owns is nil, this node dispatches all events.
	Owns func(ctx context.Context, sessionID string) (bool, error)
	// Taken, if set, reports whether a record moved a session from one node to another. The new owner's dispatcher then
	// dispatches the events that the former owner's did not.
	Taken func(event *journal.Event) (from, by string, is bool)
	// Lanes is the number of sessions whose events are dispatched concurrently (4); one session's events stay in order.
	// It also bounds concurrent retries.
	Lanes int
	// Queue bounds the queued records of one lane (256); when it overflows, the lane reads the journal from its
	// position.
	Queue int
	// Retry are the pauses before each retry of a turn.completed that no handler acted on (0.5 s, 2 s, 8 s).
	Retry []time.Duration
	// SaveEvery is the interval at which a changed cursor is stored (5 s).
	SaveEvery time.Duration
	// Observe, if set, is called each time a lane falls back to reading the journal. It must not block.
	Observe func(lane int)
	Logger  zerolog.Logger
	Clock   func() time.Time
}

func (o *DispatcherOptions) setDefaults() {
	if o.Lanes <= 0 {
		o.Lanes = 4
	}
	if o.Queue <= 0 {
		o.Queue = 256
	}
	if o.Retry == nil {
		o.Retry = []time.Duration{500 * time.Millisecond, 2 * time.Second, 8 * time.Second}
	}
	if o.SaveEvery <= 0 {
		o.SaveEvery = 5 * time.Second
	}
	if o.Observe == nil {
		o.Observe = func(int) {}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
}

// Dispatcher sends extensions the app-server signals of the journal, and the events synthesised from them. It accepts
// records without blocking and works in separate goroutines, so the stream never waits for an extension. A lane that
// falls behind reads the journal from its cursor, so no signal is lost. After a crash, synthesised events are caught up
// from the stored cursor. Plain signals from before the restart are not dispatched, because they are out of date.
type Dispatcher struct {
	opts  DispatcherOptions
	names names
	seed  maphash.Seed
	lanes []*lane
	retry retries

	loops     lifecycle.Loops
	saved     int64
	liveAfter int64
}

// NewDispatcher makes a dispatcher that does nothing until Start.
func NewDispatcher(opts DispatcherOptions) *Dispatcher {
	opts.setDefaults()
	d := &Dispatcher{opts: opts, seed: maphash.MakeSeed(), retry: retries{wake: wake.New()}}
	for i := range opts.Lanes {
		d.lanes = append(d.lanes, newLane(i, opts.Queue))
	}
	return d
}

// Start subscribes to the journal and resumes the dispatches that an earlier run of this node left. Calling it twice is
// allowed.
func (d *Dispatcher) Start(ctx context.Context) error {
	return d.loops.Start(ctx, func(context.Context) error { return d.begin(ctx) })
}

func (d *Dispatcher) begin(ctx context.Context) error {
	cursor, known, err := readCursor(ctx, d.opts.DB.Read(), d.opts.NodeID)
	if err != nil {
		return err
	}
	left, err := pendingDispatches(ctx, d.opts.DB.Read(), d.opts.NodeID)
	if err != nil {
		return err
	}
	if !known {
		// The first run starts at the head and stores its cursor immediately. Otherwise, if that run ended before its
		// first record, the next run would start as a first run again and skip the events in between.
		cursor = d.opts.Journal.Head()
		if err := d.writeCursor(ctx, cursor); err != nil {
			return err
		}
	}
	// Lanes stay closed until they know their start, so that no record is lost between the head and the first publish.
	for _, l := range d.lanes {
		l.mu.Lock()
	}
	head, unsubscribe := d.opts.Journal.Subscribe(d.publish)
	cursor = min(cursor, head) // a cursor beyond the end of the journal comes from a store that was replaced
	d.saved, d.liveAfter = cursor, head
	for _, l := range d.lanes {
		l.seen, l.cursor, l.behind = head, cursor, cursor < head
		l.mu.Unlock()
	}
	for _, l := range d.lanes {
		d.loops.Go(func(running context.Context) { d.work(running, l) })
		l.wake.Set()
	}
	d.loops.Go(func(running context.Context) {
		defer unsubscribe()
		d.save(running)
	})
	d.loops.Go(func(running context.Context) { d.retryLoop(running, left) })
	return nil
}

// Stop stops the dispatcher and cancels running handlers. The next start repeats their synthesised events. Calling it
// twice is allowed.
func (d *Dispatcher) Stop(ctx context.Context) error {
	if ended, err := d.loops.Stop(ctx, "the dispatching to extensions"); !ended {
		return err
	}
	return d.saveCursor(ctx)
}

// publish is the journal's subscriber: it drops records without a subscriber and queues the rest in the session's
// lane. It never blocks.
func (d *Dispatcher) publish(records []journal.Record) {
	for i := range records {
		rec := &records[i]
		lane := d.lanes[d.laneOf(rec.SessionID)]
		if d.interesting(rec) {
			if lane.push(*rec) {
				d.opts.Observe(lane.number)
			}
		}
	}
	last := records[len(records)-1].Pos
	for _, lane := range d.lanes {
		lane.advance(last)
	}
}

func (d *Dispatcher) laneOf(sessionID string) int {
	return int(maphash.String(d.seed, sessionID) % uint64(len(d.lanes)))
}

// save stores the cursor at intervals.
func (d *Dispatcher) save(ctx context.Context) {
	tick := time.Tick(d.opts.SaveEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if err := d.saveCursor(ctx); err != nil && ctx.Err() == nil {
				d.opts.Logger.Warn().Err(err).
					Msg("cannot store the extensions' cursor; a crash now would repeat some events")
			}
		}
	}
}

// saveCursor stores the position up to which every lane has dispatched.
func (d *Dispatcher) saveCursor(ctx context.Context) error {
	done := d.lanes[0].position()
	for _, l := range d.lanes[1:] {
		done = min(done, l.position())
	}
	if done <= d.saved {
		return nil
	}
	err := d.writeCursor(ctx, done)
	if err == nil {
		d.saved = done
	}
	return err
}

func (d *Dispatcher) writeCursor(ctx context.Context, cursor int64) error {
	_, err := d.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, writeCursor(ctx, tx, d.opts.NodeID, cursor)
	})
	return err
}

// actionable reports whether a handler acted on an event: a job was queued, or an action did not fail.
func actionable(results []sdk.EmitResult) bool {
	for i := range results {
		switch results[i].Kind {
		case sdk.EnqueueResult:
			return true
		case sdk.ActionResult:
			if sdk.ClassifyReconciledActionStatus(sdk.ActionStatus(results[i].Status)) != sdk.FailedPath {
				return true
			}
		}
	}
	return false
}
