package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// maxBulk and maxBulkBytes limit the entries, and the bytes of their events, that share a transaction. A larger
// request takes several transactions. A stored row completes it if the server is killed between them.
//
// While single upserts arrive, a transaction takes minBulk entries. A single upsert then waits for at most two such
// transactions, whose own cost is a quarter of it.
const (
	maxBulk      = 256
	minBulk      = 32
	maxBulkBytes = 512 << 10
	// singlesLast is how long after one single upsert the server expects the next.
	singlesLast = 100 * time.Millisecond
)

// bulkUpserts is the queue of upserts with several entries. One goroutine passes them to the writer, one unit at a
// time; single upserts run between two units.
type bulkUpserts struct {
	mu      sync.Mutex
	waiting []*upsert // the first may be partly stored
	stopped bool
	wake    wake.Signal
	single  atomic.Pointer[time.Time] // when the last single upsert arrived
}

func newBulkUpserts() *bulkUpserts { return &bulkUpserts{wake: wake.New()} }

// room returns how many entries the next unit may take.
func (b *bulkUpserts) room() int {
	if last := b.single.Load(); last != nil && time.Since(*last) < singlesLast {
		return minBulk
	}
	return maxBulk
}

// add returns false if no unit will store the upsert.
func (b *bulkUpserts) add(u *upsert) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return false
	}
	b.waiting = append(b.waiting, u)
	b.wake.Set()
	return true
}

// upsertPart is the part of an upsert that one unit stores: all of it, or a range of its entries.
type upsertPart struct {
	*upsert // has only the entries of the part, with their outcome
	whole   *upsert
	to      int
}

func (u *upsert) part(to int) upsertPart {
	view := &upsert{sessionID: u.sessionID, entries: u.entries[u.stored:to], events: u.events[u.stored:to]}
	return upsertPart{upsert: view, whole: u, to: to}
}

// next returns the content of the next unit: a part of the first upsert if that exceeds a unit, else as many upserts
// as fit. left lists the upserts whose callers canceled before anything was stored.
func (b *bulkUpserts) next() (parts []upsertPart, left []*upsert) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := b.room()
	entries, bytes, taken := 0, 0, 0
	for _, u := range b.waiting {
		if u.stored == 0 && u.ctx.Err() != nil {
			left = append(left, u)
			taken++
			continue
		}
		to := u.reach(room)
		if len(parts) > 0 && (to < len(u.entries) || entries+to-u.stored > room || bytes+u.bytes > maxBulkBytes) {
			break
		}
		taken++
		entries, bytes = entries+to-u.stored, bytes+u.bytes
		parts = append(parts, u.part(to))
		if to < len(u.entries) {
			break
		}
	}
	b.waiting = b.waiting[taken:]
	return parts, left
}

// reach returns the end of the range of an upsert that fits into a unit; the range has at least one entry.
func (u *upsert) reach(room int) int {
	to, bytes := u.stored, 0
	for to < len(u.entries) && to-u.stored < room && bytes < maxBulkBytes {
		bytes += len(u.events[to].Payload)
		to++
	}
	return to
}

// bulkLoop stores upserts of several entries until ctx ends; it then refuses the queued ones.
func (s *Upserter) bulkLoop(ctx context.Context) {
	s.bulk.mu.Lock()
	s.bulk.stopped = false
	s.bulk.mu.Unlock()
	s.bulk.wake.Loop(ctx, func(ctx context.Context) (again time.Duration) {
		for s.storeNext(ctx) {
		}
		return 0
	})
	s.refuseBulks()
}

// storeNext stores the next unit; it returns false if there was nothing to do.
func (s *Upserter) storeNext(ctx context.Context) bool {
	parts, left := s.bulk.next()
	for _, u := range left {
		s.finishBulk(u, u.ctx.Err())
	}
	if len(parts) > 0 {
		s.storeParts(ctx, parts)
	}
	return len(parts)+len(left) > 0
}

func (s *Upserter) refuseBulks() {
	s.bulk.mu.Lock()
	waiting := s.bulk.waiting
	s.bulk.waiting, s.bulk.stopped = nil, true
	s.bulk.mu.Unlock()
	for _, u := range waiting {
		s.finishBulk(u, journal.ErrStopped)
	}
}

// completeBulks stores the rest of the requests that a kill of this node interrupted. It runs before the loop, and
// before the node serves clients.
func (s *Upserter) completeBulks(ctx context.Context) error {
	interrupted, err := s.readBulks(ctx)
	if err != nil {
		return err
	}
	s.bulk.mu.Lock()
	// Callers from before the start have waited longest.
	s.bulk.waiting = append(interrupted[:len(interrupted):len(interrupted)], s.bulk.waiting...)
	s.bulk.mu.Unlock()
	for s.storeNext(ctx) {
	}
	for _, u := range interrupted {
		// If its session was deleted since, nothing is left to complete.
		if err := <-u.result; err != nil && !session.Absent(err) {
			return fmt.Errorf("complete an upsert of %d entries in session %s: %w", len(u.entries), u.sessionID, err)
		}
	}
	return nil
}

func (s *Upserter) finishBulk(u *upsert, err error) {
	s.upserts.many.Release(u.weight)
	u.result <- err
}

// storeParts stores the parts of one unit together; if that fails, it stores each alone. The rest of an upsert is next
// in the queue.
func (s *Upserter) storeParts(ctx context.Context, parts []upsertPart) {
	err := s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return s.upsertParts(ctx, tx, parts)
	})
	if err != nil && len(parts) > 1 && !expected(err) {
		for _, p := range parts {
			s.storeParts(ctx, []upsertPart{p})
		}
		return
	}
	for _, p := range parts {
		u := p.whole
		failed := err
		if failed == nil {
			failed = p.err
		}
		u.stored = p.to
		if failed != nil || u.stored == len(u.entries) {
			s.finishBulk(u, failed)
			continue
		}
		s.bulk.mu.Lock()
		s.bulk.waiting = append([]*upsert{u}, s.bulk.waiting...)
		s.bulk.mu.Unlock()
	}
}

func (s *Upserter) upsertParts(ctx context.Context, tx database.Tx, parts []upsertPart) ([]journal.Event, error) {
	views := make([]*upsert, len(parts))
	for i, p := range parts {
		views[i] = p.upsert
	}
	events, err := s.upsertAll(ctx, tx, views)
	var missing error
	if len(parts) == 1 && parts[0].err != nil {
		err, missing = nil, err // its session is missing or deleted
	}
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		u := p.whole
		begins, ends := u.stored == 0, p.to == len(u.entries) || p.err != nil
		switch {
		case begins && ends:
			continue
		case begins:
			u.row, err = s.insertBulk(ctx, tx, u, p.to)
		case ends:
			err = deleteBulk(ctx, tx, u.row)
			missing = nil
		default:
			err = advanceBulk(ctx, tx, u.row, p.to)
		}
		if err != nil {
			return nil, fmt.Errorf("note how much of an upsert of %d entries is stored: %w", len(u.entries), err)
		}
	}
	return events, missing
}

// bulkOrigin is the common part of one request's events.
type bulkOrigin struct {
	Time    int64  `json:"time"` // ms
	Actor   string `json:"actor"`
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

func (s *Upserter) insertBulk(ctx context.Context, tx database.Tx, u *upsert, stored int) (id string, err error) {
	id = ids.New()
	first := u.events[0]
	entries := append(make([]byte, 0, u.bytes), '[')
	for i := range u.entries {
		if i > 0 {
			entries = append(entries, ',')
		}
		entries = u.entries[i].AppendJSON(entries)
	}
	_, err = tx.ExecContext(ctx,
		`insert into bulk_upserts (id, node_id, session_id, origin, entries, stored) values ($1, $2, $3, $4, $5, $6)`,
		id, s.nodeID, database.EncodeText(u.sessionID),
		database.EncodeText(string(encode(bulkOrigin{first.Time, first.Actor, first.TraceID, first.SpanID}))),
		string(append(entries, ']')), stored)
	return id, err
}

func advanceBulk(ctx context.Context, tx database.Tx, id string, stored int) error {
	_, err := tx.ExecContext(ctx, `update bulk_upserts set stored = $2 where id = $1`, id, stored)
	return err
}

func deleteBulk(ctx context.Context, tx database.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `delete from bulk_upserts where id = $1`, id)
	return err
}

// readBulks reads this node's requests that are only partly stored.
func (s *Upserter) readBulks(ctx context.Context) ([]*upsert, error) {
	return database.ReadAll(ctx, s.db.Read(), "read the upserts to complete", func(row database.Row) (*upsert, error) {
		u := &upsert{ctx: ctx, result: make(chan error, 1)}
		var common, entries string
		if err := row.Scan(&u.row, &u.sessionID, &common, &entries, &u.stored); err != nil {
			return nil, err
		}
		u.sessionID = database.DecodeText(u.sessionID)
		var origin bulkOrigin
		if err := errors.Join(json.Unmarshal([]byte(database.DecodeText(common)), &origin),
			json.Unmarshal([]byte(entries), &u.entries)); err != nil {
			return nil, fmt.Errorf("upsert %s: %w", u.row, err)
		}
		u.encode(origin.Time)
		for i := range u.events {
			u.events[i].Actor, u.events[i].TraceID, u.events[i].SpanID = origin.Actor, origin.TraceID, origin.SpanID
		}
		return u, nil
	}, `select id, session_id, origin, entries, stored from bulk_upserts where node_id = $1 order by id`, s.nodeID)
}
