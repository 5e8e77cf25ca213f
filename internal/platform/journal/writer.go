package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"harness/internal/platform/database"
)

// run is the writer: the one goroutine of this process that appends.
func (j *Journal) run(ctx context.Context) {
	defer close(j.finished)
	defer j.refuseQueued()
	defer j.startSyncing(ctx)()

	others := j.follow(ctx)
	defer others.stop()
	process := func(first *submission) (passed bool) {
		head := j.head.Load()
		j.process(ctx, j.gather(first), true)
		return j.head.Load() != head
	}
	for passed := false; ; { // the last batch was delivered, and others' earlier events with it
		poll, idle := j.pollNow, (<-chan time.Time)(nil)
		if passed && others.poll != nil { // a read before the next batch would fetch its events a second time
			poll, idle = nil, time.After(j.opts.Gather)
		}
		select {
		case <-others.poll:
			others.pollSoon() // also under constant load: not every batch is delivered
		case <-poll:
			others.pollSoon()
		case page := <-others.found:
			j.deliverNew(page, others)
		default:
		}
		select {
		case first := <-j.queue:
			passed = process(first)
			continue
		default:
		}
		select {
		case first := <-j.queue:
			passed = process(first)
		case <-others.poll:
			others.pollSoon()
		case <-poll:
			others.pollSoon()
		case <-idle:
			passed = false
		case page := <-others.found:
			j.deliverNew(page, others)
		case <-j.sealed:
			if len(j.queue) == 0 {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// gather collects the queued units. The next batch fills while the current one commits, so a lone unit never waits for
// others, unless it expects some.
func (j *Journal) gather(first *submission) []*submission {
	runtime.Gosched() // callers that are about to submit do so first
	batch := j.awaitWhole(first)
	if first.unit == nil {
		return batch
	}
	return j.join(batch)
}

// join adds waiting units to a batch, as far as there is room in it.
func (j *Journal) join(batch []*submission) []*submission {
	units := 0
	for _, s := range batch {
		if s.unit != nil {
			units++
		}
	}
	for units < maxBatch && len(batch) < maxEphemeral*maxBatch {
		select {
		case next := <-j.queue:
			batch = append(batch, next)
			if next.unit != nil {
				units++
			}
		default:
			return batch
		}
	}
	return batch
}

// awaitWhole waits until no other caller is expected to join a unit (SubmitOpen), or until there is something else to
// write.
func (j *Journal) awaitWhole(first *submission) []*submission {
	batch := []*submission{first}
	if first.whole == nil || len(j.queue) > 0 {
		return batch
	}
	select {
	case <-first.whole:
		return batch
	default:
	}
	timeout := time.NewTimer(min(time.Duration(j.took.Load())/2, j.opts.Gather))
	defer timeout.Stop()
	select {
	case <-first.whole:
	case next := <-j.queue:
		batch = append(batch, next)
	case <-timeout.C:
	}
	return batch
}

const (
	// maxBatch bounds the units of one transaction: the first caller waits for all of them.
	maxBatch = 64
	// maxEphemeral bounds a batch with many ephemeral events between its units, in multiples of maxBatch.
	maxEphemeral = 8
)

func (j *Journal) refuseQueued() {
	for {
		select {
		case s := <-j.queue:
			s.done(nil, ErrStopped)
		default:
			return
		}
	}
}

// process commits a batch. A unit that fails after writing, or whose events cannot be stored, spoils the shared
// transaction; then each unit gets its own. While the store refuses (database.Transient), process holds and retries the
// batch, and starts nothing after it. That slows producers, but drops and reorders nothing. It returns when the store
// accepts writes. An open batch also takes the units that arrive while it waits for the head: all units taken from the
// queue before them are already in it.
func (j *Journal) process(ctx context.Context, batch []*submission, open bool) {
	if len(batch) == 0 {
		return
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		batch = j.publishLeading(ctx, dropCanceled(batch))
		if len(batch) == 0 {
			if j.Outage() == nil {
				return
			}
			batch = []*submission{probe()}
		}
		batch = j.withOutages(batch)
		var err error
		if batch, err = j.commit(ctx, batch, open); err == nil {
			j.process(ctx, batch, open)
			return
		}
		if database.Transient(err) {
			_ = j.refused(err)
			if j.pause(ctx, wait) {
				continue
			}
			j.opts.Logger.Error().Err(err).Int("units", len(batch)).
				Msg("stopped while the store rejects writes; held events are lost")
			err = errors.Join(ErrStopped, err)
		} else if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
			err = errors.Join(ErrStopped, err) // in the middle of an attempt
		}
		if len(batch) > 1 && ctx.Err() == nil {
			for _, s := range batch {
				j.process(ctx, []*submission{s}, false)
			}
			return
		}
		var spoiled *unitError
		if errors.As(err, &spoiled) {
			err = spoiled.err
		}
		for _, s := range batch {
			if s.unit == nil {
				j.publishEphemeral(ctx, []*submission{s})
				continue
			}
			s.done(nil, err)
		}
		return
	}
}

const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// pause waits before a retry; false means that the writer is being stopped.
func (j *Journal) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// dropCanceled removes units whose callers were canceled. It runs before a batch's transaction. At that time none of
// the units has run, or their changes were rolled back.
func dropCanceled(batch []*submission) []*submission {
	live := batch[:0]
	for _, s := range batch {
		if err := s.ctx.Err(); err != nil {
			s.done(nil, err)
			continue
		}
		if s.claim() {
			live = append(live, s)
		}
	}
	return live
}

// unitError is a batch's failure caused by one of its units, not by the store.
type unitError struct{ err error }

func (e *unitError) Error() string { return e.err.Error() }
func (e *unitError) Unwrap() error { return e.err }

type outcome struct {
	first, count int // records of this unit
	err          error
}

// maxEvents and maxBytes bound a transaction: with that many events, or bytes of payloads, it accepts no further unit.
// So no caller waits for more than this and one unit, and one publish fits into the stream's buffer.
const (
	maxEvents = 1024
	maxBytes  = 2 << 20
)

// commit runs the batch, or as much of it as one transaction accepts, and hands it over to be published. It returns the
// remainder; on an error that is the whole batch, and no callback was called. An open batch is closed once the head is
// held, which may involve a wait.
func (j *Journal) commit(ctx context.Context, batch []*submission, open bool) (left []*submission, err error) {
	began, overlaps := time.Now(), j.underWay.Load() > 0
	j.unpublished.Add(1)
	j.batches++
	name := j.batchPrefix + strconv.FormatInt(j.batches, 10)
	var ran transactionRun
	transaction, err := j.db.UpdateHolding(ctx, j.holdHead(),
		func(tx database.Tx, held []int64) (last database.Last, err error) {
			ran = transactionRun{}
			if err := j.checkFence(ctx, tx, held); err != nil {
				return last, err
			}
			if open {
				batch = dropCanceled(j.join(batch))
			}
			if err := j.runUnits(ctx, tx, held, batch, &ran); err != nil {
				return last, err
			}
			pos := held[0]
			if j.opts.Before != nil {
				if err := j.opts.Before(ctx, tx, pos+1, ran.records); err != nil {
					return last, err
				}
			}
			ran.end(held)
			last, err = j.append(ctx, tx, name, pos, ran.records)
			last.Early = j.releasesEarly(pos, len(ran.records))
			return last, err
		})
	if err != nil {
		for _, s := range batch {
			s.park()
		}
		if !j.committedAnyway(ctx, err, name, ran.records) {
			j.unpublished.Add(-1)
			return batch, err
		}
	}
	j.own = ran.ended.pos
	mean(&j.runs, time.Since(began))
	units := len(ran.outcomes)
	j.handOver(ctx, &committed{transaction: transaction, batch: batch[:units:units], outcomes: ran.outcomes, records: ran.records,
		began: began, overlaps: overlaps, ends: j.outage.Load(), ended: ran.ended})
	return batch[units:], nil
}

// transactionRun is the result of a transaction's units: their records, their outcomes, and the head after it.
type transactionRun struct {
	records  []Record
	outcomes []outcome
	ended    headState
}

// end records the head after the transaction.
func (t *transactionRun) end(held []int64) {
	t.ended = headState{pos: held[0] + int64(len(t.records))}
	if len(held) > 2 {
		t.ended.eventless = held[2]
	}
	if len(t.records) == 0 {
		t.ended.eventless++
	}
}

// runUnits runs the units of a batch, as many as one transaction accepts.
func (j *Journal) runUnits(ctx context.Context, tx database.Tx, held []int64, batch []*submission, into *transactionRun) error {
	pos, bytes := held[0], 0
	running := withTakeovers(withEarlier(ctx, pos, &into.records), held)
	for _, s := range batch {
		if len(into.records) >= maxEvents || bytes >= maxBytes {
			return nil
		}
		if s.unit == nil {
			into.outcomes = append(into.outcomes, outcome{first: len(into.records)})
			continue
		}
		events, err := runUnit(context.WithValue(running, nextKey{}, pos+int64(len(into.records))+1), s, tx)
		if reason, ok := refused(err); ok {
			into.outcomes = append(into.outcomes, outcome{err: reason})
			continue
		}
		if err != nil {
			return &unitError{err: err}
		}
		into.outcomes = append(into.outcomes, outcome{first: len(into.records), count: len(events)})
		origin := j.origin(s)
		into.records = slices.Grow(into.records, len(events))
		for i := range events {
			bytes += len(events[i].Payload)
			into.records = append(into.records, j.record(events[i], origin))
		}
	}
	return nil
}

// releasesEarly reports whether to release the head, at pos when locked, before a batch survives. It does so if another
// process has written since this one did, and so probably is about to write again. A batch without events cannot be
// found once others have signed the head.
func (j *Journal) releasesEarly(pos int64, events int) bool {
	return events > 0 && pos != j.own && j.opts.EarlyRelease != nil && j.opts.EarlyRelease()
}

type nextKey struct{}

// NextPos returns, within a unit, the position of the first event that the unit will return; the others follow it. It
// is 0 elsewhere.
func NextPos(ctx context.Context) int64 {
	pos, _ := ctx.Value(nextKey{}).(int64)
	return pos
}

// runUnit runs one unit under the writer's context: a canceled caller must not roll back its neighbors.
func runUnit(ctx context.Context, s *submission, tx database.Tx) (events []Event, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("journal unit panicked: %v", r)
		}
	}()
	return s.unit(ctx, tx)
}

// headPosition, with the engine's lock clause, locks the head row.
const headPosition = `select pos from journal_head where id = 1`

// lockHead locks the head row. From here to the commit no other writer of any process appends, which makes pos and seq
// gap-free and equal to commit order. The lock comes first so that units of two processes cannot deadlock on each
// other's rows.
func (j *Journal) lockHead(ctx context.Context, tx database.Tx) (pos int64, err error) {
	if err := tx.QueryRowContext(ctx, headPosition+j.db.LockClause()).Scan(&pos); err != nil {
		return 0, fmt.Errorf("lock the journal head: %w", err)
	}
	return pos, nil
}

func (j *Journal) origin(s *submission) Origin {
	if j.opts.Origin == nil {
		return Origin{}
	}
	return j.opts.Origin(s.ctx)
}

// Actor returns the actor for whom ctx runs, as events name it; "" for the server itself.
func (j *Journal) Actor(ctx context.Context) string {
	if j.opts.Origin == nil {
		return ""
	}
	return j.opts.Origin(ctx).Actor
}

// ActorName returns the display name of the actor for whom ctx runs, "" if only the actor is known.
func (j *Journal) ActorName(ctx context.Context) string {
	if j.opts.Origin == nil {
		return ""
	}
	return j.opts.Origin(ctx).Name
}

func (j *Journal) record(event Event, origin Origin) Record {
	event.attribute(origin)
	if event.TraceID == "" && event.TurnID != "" && j.opts.TraceOf != nil {
		event.TraceID, event.SpanID = j.opts.TraceOf(database.DecodeText(event.SessionID), database.DecodeText(event.TurnID))
	}
	if event.Time == 0 {
		event.Time = j.opts.Now().UnixMilli()
	}
	event.Meta = event.metaWithRole()
	if event.Payload == nil {
		event.Payload = json.RawMessage("null")
	}
	return Record{Event: event, SchemaVersion: SchemaVersion}
}
