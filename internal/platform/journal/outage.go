package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
)

// OutageError means that the store refuses the journal's writes. The journal holds them, in order, and retries until
// the store accepts them. Only callers that wait for their own unit return with this error.
type OutageError struct {
	Engine database.Engine
	// Since is when the store first refused a write. Cause is why it refused the last one.
	Since time.Time
	Cause error
}

func (e *OutageError) Error() string {
	return fmt.Sprintf("the %s store takes no writes since %s: %s", e.Engine, e.Since.UTC().Format(time.RFC3339),
		database.Reason(e.Cause))
}

// Unwrap returns why the store refused the last write.
func (e *OutageError) Unwrap() error { return e.Cause }

// outage is an OutageError in progress; over is closed at its end.
type outage struct {
	OutageError
	over   chan struct{}
	logged time.Time
}

// outages tracks whether the store accepts writes.
type outages struct {
	db        *database.DB
	now       func() time.Time
	logger    zerolog.Logger
	onRefused func()                                        // Hooks.Refused
	recorded  func(over OutageError, until time.Time) Event // Options.Recorded

	outage atomic.Pointer[outage] // nil while the store accepts writes
	wrote  atomic.Int64           // time of the last accepted write, ms
	mu     sync.Mutex             // held to change outage and unrecorded
	// unrecorded are the outages that are over but have no event yet.
	unrecorded []Event
}

// Outage reports whether the store refuses writes, and since when; nil while the last write succeeded.
func (s *outages) Outage() *OutageError {
	if o := s.outage.Load(); o != nil {
		return &o.OutageError
	}
	return nil
}

// logOutageEvery is how often a continuing outage with the same cause is logged.
const logOutageEvery = time.Minute

// refused records that the store refused a transaction, or could not make it durable.
func (s *outages) refused(cause error) *outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	next := &outage{OutageError: OutageError{Engine: s.db.Engine(), Since: now, Cause: cause}, over: make(chan struct{}),
		logged: now}
	last := s.outage.Load()
	if last != nil {
		next.Since, next.over, next.logged = last.Since, last.over, last.logged
	}
	if last == nil || last.Cause.Error() != cause.Error() || now.Sub(last.logged) >= logOutageEvery {
		next.logged = now
		s.logger.Error().Err(cause).Time("since", next.Since).
			Msg("store rejects writes; holding and retrying, runtimes are paused")
	}
	s.outage.Store(next)
	if s.onRefused != nil {
		s.onRefused()
	}
	return next
}

// noteAccepted records that the store accepted a batch, which ends an outage unless the outage started later.
func (s *outages) noteAccepted(known *outage) {
	s.wrote.Store(s.now().UnixMilli())
	if s.outage.Load() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.outage.Load()
	if last == nil || known == nil || known.over != last.over {
		return
	}
	s.outage.Store(nil)
	if s.recorded != nil {
		s.unrecorded = append(s.unrecorded, s.recorded(last.OutageError, s.now()))
	}
	s.logger.Info().Dur("after", s.now().Sub(last.Since)).Msg("store accepts writes again")
	close(last.over)
}

// withOutages adds the outages without an event to a batch before its commit.
func (s *outages) withOutages(batch []*submission) []*submission {
	s.mu.Lock()
	events := s.unrecorded
	s.unrecorded = nil
	s.mu.Unlock()
	if len(events) == 0 {
		return batch
	}
	return slices.Concat(batch, []*submission{{ctx: context.Background(), done: func([]Record, error) {},
		unit: func(context.Context, database.Tx) ([]Event, error) { return events, nil }}})
}

// probe returns the write that the writer tries during an outage when no unit waits: it has no events.
func probe() *submission {
	return &submission{ctx: context.Background(), done: func([]Record, error) {},
		unit: func(context.Context, database.Tx) ([]Event, error) { return nil, nil }}
}

// probeAfter is the age of the last write from which Probe makes a new one.
const probeAfter = 5 * time.Second

// Probe reports whether the store accepts writes: it returns *OutageError if not. If there was no recent write, it
// makes one without events.
func (j *Journal) Probe(ctx context.Context) error {
	if o := j.Outage(); o != nil {
		return o
	}
	if j.opts.Now().Sub(time.UnixMilli(j.wrote.Load())) < probeAfter {
		return nil
	}
	_, err := j.Commit(Patient(ctx, pollAgain), probe().unit)
	if o := j.Outage(); o != nil {
		return o
	}
	if err != nil {
		return fmt.Errorf("the %s store did not take a write in time: %w", j.db.Engine(), err)
	}
	return nil
}

type patienceKey struct{}

// Patient bounds how long callers with the returned context wait during an outage of the store. After limit,
// AwaitWrites, Commit and Await return *OutageError. Without it they wait until their context ends. It has no effect
// while the store accepts writes, however slowly.
func Patient(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, limit)
}

// pollAgain is the interval at which a caller at the end of its patience checks whether it may leave.
const pollAgain = 100 * time.Millisecond

// patience returns a timer that fires when a caller may leave an outage; nil means never.
func patience(ctx context.Context) *time.Timer {
	if limit, bounded := limitOf(ctx); bounded {
		return time.NewTimer(limit)
	}
	return nil
}

// limitOf returns for how long a context is Patient.
func limitOf(ctx context.Context) (limit time.Duration, bounded bool) {
	limit, bounded = ctx.Value(patienceKey{}).(time.Duration)
	return limit, bounded
}

// AwaitWrites returns when the store accepts writes, as far as is known: normally at once. It returns ctx's error. It
// returns *OutageError if ctx is Patient for less time than the outage lasts from now on.
func (j *Journal) AwaitWrites(ctx context.Context) error {
	if j.outage.Load() == nil {
		return nil
	}
	var impatient <-chan time.Time
	if timer := patience(ctx); timer != nil {
		defer timer.Stop()
		impatient = timer.C
	}
	for {
		o := j.outage.Load()
		if o == nil {
			return nil
		}
		select {
		case <-o.over:
		case <-impatient:
			if now := j.Outage(); now != nil {
				return now
			}
			return nil
		case <-j.finished:
			return ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Await waits for the value that a unit's Done sends. It returns ctx's error if ctx ends first. It returns *OutageError
// if ctx is Patient for less time than an outage lasts; the journal still holds the unit, and stores it after the
// outage.
func Await[T any](ctx context.Context, j *Journal, outcome <-chan T) (T, error) {
	return await(ctx, j, outcome, func() bool { return true })
}

// await calls leave before its caller leaves; if leave returns false, the caller keeps waiting.
func await[T any](ctx context.Context, j *Journal, outcome <-chan T, leave func() bool) (out T, err error) {
	var impatient <-chan time.Time
	timer := patience(ctx)
	if timer != nil {
		defer timer.Stop()
		impatient = timer.C
	}
	gone := ctx.Done()
	for {
		select {
		case out = <-outcome:
			return out, nil
		case <-gone:
			if leave() {
				return out, ctx.Err()
			}
			gone = nil
		case <-impatient:
			if o := j.Outage(); o != nil && leave() {
				return out, o
			}
			timer.Reset(pollAgain)
		}
	}
}
