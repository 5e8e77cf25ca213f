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

// Journal is what this package needs of the event log; *journal.Journal implements it.
type Journal interface {
	Subscribe(fn journal.Subscriber) (head int64, cancel func())
	Bounds(ctx context.Context) (oldest, head int64, err error)
	Read(ctx context.Context, query journal.Query) ([]journal.Record, error)
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
	// Reading is a context whose reads Settled waits for, until what was read may be shown; an error says why it may not.
	Reading(ctx context.Context) context.Context
	Settled(ctx context.Context) error
	// Head is the last position handed to subscribers.
	Head() int64
}

// Sessions is what synthesised events need to know of a session; cmd/harness adapts package session to it.
type Sessions interface {
	// Describe returns what is stored of a session, ErrSessionGone when it was deleted or never existed.
	Describe(ctx context.Context, sessionID string) (SessionInfo, error)
	// RequestPending reports whether an interactive request of a session still waits for a decision.
	RequestPending(ctx context.Context, sessionID, requestID string) (bool, error)
}

// SessionInfo is a session as events mention it.
type SessionInfo struct {
	ID, Title   string
	ProjectID   *string
	SystemOwned bool
}

// ErrSessionGone says that the session was deleted or is not known.
var ErrSessionGone = errors.New("session is gone")

// DispatcherOptions are what a Dispatcher is built from. Registry, Journal, DB, Sessions and NodeID are required.
type DispatcherOptions struct {
	Registry *Registry
	Journal  Journal
	DB       *database.DB
	Sessions Sessions
	// NodeID names this server among those that share the store; it must be the same after a restart.
	NodeID string
	// Owns, when set, reports whether this node dispatches the events of a session. Events without a session
	// are dispatched by the node whose runtime emitted them. With nil this node dispatches all.
	Owns func(ctx context.Context, sessionID string) (bool, error)
	// Taken, when set, reports whether a record moved a session from one node to another. The new owner's
	// dispatcher then dispatches what the former owner's has not.
	Taken func(event *journal.Event) (from, by string, is bool)
	// Lanes is how many sessions' events are dispatched side by side (4); one session's events stay in order.
	// It also bounds how many retries run at once.
	Lanes int
	// Queue bounds the records waiting in one lane (256); beyond, the lane reads the journal from where it is.
	Queue int
	// Retry are the pauses before each further try of a turn.completed no handler acted on (0.5 s, 2 s, 8 s).
	Retry []time.Duration
	// SaveEvery is how often the cursor is stored while there is something to store (5 s).
	SaveEvery time.Duration
	// Observe, when set, is called each time a lane falls back to reading the journal. It must not block.
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

// Dispatcher feeds extensions from the journal: app-server signals as they are, and the events synthesised
// from them. It accepts records without blocking and works on goroutines of its own, so the stream never
// waits for an extension. A lane that cannot keep up reads the journal from its cursor, so no signal is lost.
// After a crash, synthesised events are caught up from the stored cursor; plain signals of the time in
// between are not dispatched, since they are out of date.
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

// Start subscribes to the journal and resumes what an earlier run of this node left. Calling it twice is
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
		// The very first run begins at the head, and says so before anything can happen to it: a run that ended before it had
		// finished one record would else be a first run again, and pass over what came in between.
		cursor = d.opts.Journal.Head()
		if err := d.writeCursor(ctx, cursor); err != nil {
			return err
		}
	}
	// Nothing may come between the head and the first record handed to publish, so lanes are closed until they know where
	// they begin.
	for _, l := range d.lanes {
		l.mu.Lock()
	}
	head, unsubscribe := d.opts.Journal.Subscribe(d.publish)
	cursor = min(cursor, head) // a cursor ahead of the journal is one of a store that was replaced
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

// Stop ends dispatching: handlers under way are cut off, their events are caught up after the next start as far as they
// are synthesised. Calling it twice is allowed.
func (d *Dispatcher) Stop(ctx context.Context) error {
	if ended, err := d.loops.Stop(ctx, "the dispatching to extensions"); !ended {
		return err
	}
	return d.saveCursor(ctx)
}

// publish is the journal's subscriber: it drops records without a subscriber and hands the rest to the
// session's lane. It never blocks.
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
		lane.pass(last)
	}
}

func (d *Dispatcher) laneOf(sessionID string) int {
	return int(maphash.String(d.seed, sessionID) % uint64(len(d.lanes)))
}

// save stores the cursor now and then.
func (d *Dispatcher) save(ctx context.Context) {
	tick := time.Tick(d.opts.SaveEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if err := d.saveCursor(ctx); err != nil && ctx.Err() == nil {
				d.opts.Logger.Warn().Err(err).
					Msg("the extensions' place in the journal could not be stored; a crash now would repeat some events")
			}
		}
	}
}

// saveCursor stores the position up to which every lane is done.
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
