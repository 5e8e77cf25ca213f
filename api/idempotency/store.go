// Package idempotency returns the stored response when a client repeats a request. A client that lost a response may
// repeat the request without a second execution.
//
// The store claims a request before it runs, and stores its response before it is sent. The package owns the keys and
// their responses, for Lifetime. It must never know HTTP or what a request does. If a server exits before it
// concludes a claim, the store reports the claim as lost and never hands it out again. The exception is a caller that
// finds its earlier result by name (Request.Again).
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
	// Lifetime is how long a response is stored.
	Lifetime = 24 * time.Hour
	// silence is the age at which another server's open claim counts as lost.
	silence = 10 * time.Minute
)

// These values take the place of a status in a row.
const (
	underWay = 0
	lost     = -1
)

// The errors that refuse a key that was used before.
var (
	// ErrReused reports a key that was used for a different request.
	ErrReused = errors.New("this idempotency key was used for another request; use a new key for every request")
	// ErrUnderWay reports a key whose request is in progress. Retry to get its response.
	ErrUnderWay = errors.New("the request with this idempotency key is in progress; send it again in a moment for its response")
	// ErrLost reports a key whose request may or may not have been executed.
	ErrLost = errors.New("the server exited during the request with this idempotency key: check whether it took effect, " +
		"and send it with a new key if it did not")
)

// Options are the dependencies of a Store; all but Clock are required.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	// NodeID is the unique id of this server.
	NodeID string
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Store stores keys and responses.
type Store struct {
	opts Options

	mu sync.Mutex
	// claimed holds the open claims of this process. If an open row is missing here, the store lost the connection
	// during its insert and never handed it out.
	claimed map[string]*claimed
}

// claimed is an open claim: in progress, or lost because its response could not be stored. A repeatable claim is
// never stored as lost.
type claimed struct {
	request     string
	again, lost bool
}

// New creates a Store. Call Start before the first Claim.
func New(options Options) *Store {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Store{opts: options, claimed: map[string]*claimed{}}
}

// Start marks the claims of an earlier process of this server as lost. Call it once the store accepts writes and
// before the first claim.
func (s *Store) Start(ctx context.Context) error {
	return s.opts.Journal.Submit(context.WithoutCancel(ctx), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `update idempotency_keys set status = $2 where node_id = $1 and status = 0`,
			s.opts.NodeID, lost)
		return nil, err
	}, nil)
}

// Request identifies the request that uses a key.
type Request struct {
	// Caller is the principal: keys of different callers are independent.
	Caller, Key string
	// Parts are all values that distinguish this request from others.
	Parts []string
	// Again means that the executor finds its earlier result by Claim.Name, so the store hands the request out again
	// after its server exited. Alone means that no other server can be executing it, so the store also hands out another
	// server's claim.
	Again, Alone bool
}

// Answer is the response to a request.
type Answer struct {
	// Status is the HTTP status.
	Status int
	Body   []byte
}

// Claim is a request that only its holder executes. It ends with Conclude, GiveBack or Lose.
type Claim struct {
	store    *Store
	id       string
	standing *claimed
}

// Name identifies the request. It is the same for the same request of the same caller with the same key, and unique
// otherwise.
func (c *Claim) Name() string { return digest(c.id, c.standing.request) }

// Claim claims a request or returns its stored response. ErrReused, ErrUnderWay, ErrLost.
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

// take records a claim within this process.
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

// drop ends a claim in this process. The key may have a newer claim by then.
func (c *Claim) drop() {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if c.store.claimed[c.id] == c.standing {
		delete(c.store.claimed, c.id)
	}
}

// store claims a key in the store, or returns the existing row if it is younger than Lifetime. It replaces two kinds
// of rows: one that this server wrote but never handed out, and a repeatable one that no server executes.
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

// Conclude stores the response. If that fails, the request counts as lost and is not executed again, unless it is
// repeatable.
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

// GiveBack notes that the request was not executed, so the client may send it again with the same key.
func (c *Claim) GiveBack(ctx context.Context) error {
	defer c.drop()
	return c.store.change(ctx, `delete from idempotency_keys where id = $1 and node_id = $2`, c.id, c.store.opts.NodeID)
}

// Lose notes that the outcome is unknown. The next caller gets a repeatable request. Lose does nothing after Conclude
// or GiveBack.
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

// Prune removes rows older than Lifetime and returns their number.
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

// digest hashes texts and their boundaries.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}
