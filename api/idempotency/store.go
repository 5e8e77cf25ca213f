// Package idempotency answers a request that is sent again as it was answered the first time, so that a client that did
// get an answer may ask again without having anything done twice.
//
// A request is claimed in the store before it is done and its answer is stored before it is given. It owns the keys and
// what was answered, for Lifetime. It must never know HTTP or what a request does: a claim that will never be
// concluded, because its server ended, is reported as such and never done again, unless who does the request finds what it
// did by its name (Request.Again).
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

const (
	// Lifetime is how long an answer is given again.
	Lifetime = 24 * time.Hour
	// silence is after which time a claim of another server that still stands counts as one that will not be concluded.
	silence = 10 * time.Minute
)

// What stands in the place of a status.
const (
	underWay = 0
	lost     = -1
)

// Refusals of a key that was used before.
var (
	// ErrReused is a key that came with another request.
	ErrReused = errors.New("this idempotency key was used for another request; every request has a key of its own")
	// ErrUnderWay is a key whose request is being done: its answer can be had later.
	ErrUnderWay = errors.New("the request with this idempotency key is under way; send it again in a moment for its answer")
	// ErrLost is a key whose request may or may not have been done.
	ErrLost = errors.New("the server ended while it did the request with this idempotency key: look whether it was done, " +
		"and send it with a new key if it was not")
)

// Options are what a Store stands on; all but Clock are required.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	// NodeID is this server's, which no other one has.
	NodeID string
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Store keeps the keys and the answers.
type Store struct {
	opts Options

	mu sync.Mutex
	// claimed are the claims of this process that stand. A row that says so and is not here was never handed out: the
	// connection broke as it was written.
	claimed map[string]*claimed
}

// claimed is a claim that stands: under way, or lost because its answer could not be stored. One that may be done again
// is not kept as lost.
type claimed struct {
	request     string
	again, lost bool
}

// New makes a Store. Call Start before the first Claim.
func New(options Options) *Store {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Store{opts: options, claimed: map[string]*claimed{}}
}

// Start gives up what an earlier process of this server left under way, as soon as the store takes writes and before
// anything is claimed.
func (s *Store) Start(ctx context.Context) error {
	return s.opts.Journal.Submit(context.WithoutCancel(ctx), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `update idempotency_keys set status = $2 where node_id = $1 and status = 0`,
			s.opts.NodeID, lost)
		return nil, err
	}, nil)
}

// Request is what a key came with.
type Request struct {
	// Caller is who asks: keys of different callers have nothing to do with each other.
	Caller, Key string
	// Parts are all that makes it this request.
	Parts []string
	// Again says that who does it finds by Claim.Name what it did before: it is handed out again when its server ended in
	// the middle. Alone says that no other server can be doing it, so that what another one has claimed is handed out, too.
	Again, Alone bool
}

// Answer is what a request was answered.
type Answer struct {
	// Status is HTTP's.
	Status int
	Body   []byte
}

// Claim is a request that its holder alone is to do. It ends with Conclude, GiveBack or Lose.
type Claim struct {
	store    *Store
	id       string
	standing *claimed
}

// Name names the request: the same for the same request with the same key of the same caller, and for no other.
func (c *Claim) Name() string { return digest(c.id, c.standing.request) }

// Claim takes a request to do it, or returns how it was answered before. ErrReused, ErrUnderWay, ErrLost.
func (s *Store) Claim(ctx context.Context, r Request) (*Claim, *Answer, error) {
	id, request := digest(r.Caller, r.Key), digest(r.Parts...)
	claim := &Claim{s, id, &claimed{request: request, again: r.Again}}
	if err := s.take(claim); err != nil {
		return nil, nil, err
	}
	before, err := s.store(ctx, id, request, r)
	if err == nil && before == nil {
		return claim, nil, nil
	}
	claim.drop()
	if err != nil {
		return nil, nil, err
	}
	now := s.opts.Clock().UnixMilli()
	switch {
	case before.request != request:
		return nil, nil, ErrReused
	case before.status == underWay && now-before.createdAt < silence.Milliseconds():
		return nil, nil, ErrUnderWay // at another server
	case before.status == underWay || before.status == lost:
		return nil, nil, ErrLost
	}
	return nil, &Answer{int(before.status), []byte(database.DecodeText(before.answer))}, nil
}

// take claims within this process.
func (s *Store) take(claim *Claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch standing := s.claimed[claim.id]; {
	case standing == nil:
		s.claimed[claim.id] = claim.standing
		return nil
	case standing.request != claim.standing.request:
		return ErrReused
	case standing.lost:
		return ErrLost
	}
	return ErrUnderWay
}

// drop ends a claim in this process; another one of its key may stand by then.
func (c *Claim) drop() {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if c.store.claimed[c.id] == c.standing {
		delete(c.store.claimed, c.id)
	}
}

// store claims a key in the store, or returns what is known of it: one that is there counts when it is younger than
// Lifetime, and not when this server wrote it without handing it out, or when its request may be done again and no
// server does it.
func (s *Store) store(ctx context.Context, id, request string, r Request) (before *row, err error) {
	now := s.opts.Clock().UnixMilli()
	_, err = s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		before = nil
		inserted, err := tx.ExecContext(ctx, `insert into idempotency_keys as k
				(id, request, node_id, status, answer, created_at, again) values ($1, $2, $3, 0, '', $4, $5)
			on conflict (id) do update set request = excluded.request, node_id = excluded.node_id, status = 0, answer = '',
				created_at = excluded.created_at, again = excluded.again
			where k.status <> 0 and k.created_at <= $6
				or k.again = 0 and k.status = 0 and k.node_id = excluded.node_id
				or k.again = 1 and k.request = excluded.request and (k.status = -1
					or k.status = 0 and (k.node_id = excluded.node_id or k.created_at <= $7 or $8 = 1))`,
			id, request, s.opts.NodeID, now, flag(r.Again), now-Lifetime.Milliseconds(), now-silence.Milliseconds(), flag(r.Alone))
		if err != nil {
			return nil, fmt.Errorf("claim an idempotency key: %w", err)
		}
		if rows, err := inserted.RowsAffected(); err != nil || rows == 1 {
			return nil, err
		}
		before, err = read(ctx, tx, id)
		return nil, err
	})
	return before, err
}

// Conclude stores how the request was answered. When it cannot be stored the request counts as lost: it is not done
// again, unless it may be.
func (c *Claim) Conclude(ctx context.Context, answer Answer) error {
	err := c.store.change(ctx, `update idempotency_keys set status = $3, answer = $4 where id = $1 and node_id = $2`, c.id,
		c.store.opts.NodeID, answer.Status, database.EncodeText(string(answer.Body)))
	if err != nil {
		c.Lose()
		return err
	}
	c.drop()
	return nil
}

// GiveBack says that the request was not done: it may be sent again with the same key.
func (c *Claim) GiveBack(ctx context.Context) error {
	defer c.drop()
	return c.store.change(ctx, `delete from idempotency_keys where id = $1 and node_id = $2`, c.id, c.store.opts.NodeID)
}

// Lose says that it is unknown whether the request was done. One that may be done again is handed out to who sends it
// next. After Conclude and GiveBack it does nothing.
func (c *Claim) Lose() {
	if c.standing.again {
		c.drop()
		return
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.standing.lost = true
}

func (s *Store) change(ctx context.Context, query string, args ...any) error {
	_, err := s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, query, args...)
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("conclude an idempotency key: %w", err)
	}
	return nil
}

// Prune removes what is older than Lifetime and returns how many rows went.
func (s *Store) Prune(ctx context.Context, pruned func(table string, rows int64)) error {
	rows, err := s.opts.Journal.SweepRows(ctx, "idempotency_keys", "id", `created_at <= $1`,
		s.opts.Clock().Add(-Lifetime).UnixMilli())
	pruned("idempotency_keys", rows)
	return err
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

type row struct {
	request, nodeID, answer string
	status, createdAt       int64
}

func read(ctx context.Context, tx database.Tx, id string) (*row, error) {
	var r row
	err := tx.QueryRowContext(ctx, `select request, node_id, status, answer, created_at from idempotency_keys where id = $1`, id).
		Scan(&r.request, &r.nodeID, &r.status, &r.answer, &r.createdAt)
	if err != nil {
		return nil, fmt.Errorf("read an idempotency key: %w", err)
	}
	return &r, nil
}

// digest distinguishes texts, and where one ends and the next begins.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil))
}
