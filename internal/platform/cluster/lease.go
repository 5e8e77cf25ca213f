// Package cluster owns the identity of the servers of one store: a node id belongs to one running server at a time.
//
// It must not know what a node does. A lease expires by the database's clock. A server ends another node only if it has
// also seen that node unresponsive for as long by its own clock.
package cluster

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/boottime"
	"harness/internal/lib/ids"
	"harness/internal/lib/lifecycle"
	"harness/internal/platform/database"
)

// The timing of leases.
const (
	// Beat is the interval of a node's heartbeat.
	Beat = 2 * time.Second
	// Patience is how long a node must have been unresponsive to count as dead.
	Patience = 5 * Beat
	// TTL is how long a lease lasts after a heartbeat. During that time another node waits for this one.
	TTL = beats * Beat
	// beats is the length of a lease in heartbeats.
	beats = 4
)

// Guard stops what this node runs when its lease expires, whether or not this process can act at that time. Times are
// those of package boottime.
type Guard interface {
	// Hold lets running processes continue until stop, and lets them be resumed until kill.
	Hold(stop, kill time.Duration) error
	// Lift removes all bounds. Held reports whether there are any.
	Lift() error
	Held() bool
}

// Options configure a Lease. DB and NodeID are required.
type Options struct {
	DB     *database.DB
	NodeID string
	// Place is the single place this server runs in, such that no other server runs there (it holds its data
	// directory's lock). So a predecessor's node in the same place is taken over at once. "" is no such place.
	Place string
	// Owner describes this server in the message with which another one is refused.
	Owner string
	// Lost is called, once, when another server has taken the node id: this server must end.
	Lost   func(error)
	Logger zerolog.Logger
	// Grace is how long other nodes wait after the end of the lease before they end what this node ran.
	Grace time.Duration
	// Guard is called while there are other nodes. nil: no server takes over this node on its own.
	Guard Guard
	// CountTakeover is called within a transaction, before anything else in it, when a node id changes owner.
	CountTakeover func(ctx context.Context, tx database.Tx) error
	// Version is this server's version, for display.
	Version string
	// Address is the address at which other nodes reach this one, Certificate the fingerprint of the certificate it
	// presents there. "": they cannot reach it.
	Address, Certificate string
	// Roles are the roles of this node: RoleAPI, RoleRunner; none means both.
	Roles []string
	// Beat and Patience default to the constants when 0.
	Beat, Patience time.Duration
}

// HeldError refuses a node id that a running server holds.
type HeldError struct {
	NodeID string
	// Owner is that server's description of itself.
	Owner string
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf(
		"node %s is already running: %s. Two servers on one database need a node id each: if this DATA_DIR is a copy of that "+
			"server's, delete its file node-id (a new id is made) and its folder run; if it is to replace that server, stop that one first",
		e.NodeID, e.Owner)
}

// LostError means that another server took this server's node id while this one was unresponsive.
type LostError struct{ NodeID, Owner string }

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf(
		"node %s was taken over by another server while this one was silent: %s. Both had the same DATA_DIR/node-id: end one of "+
			"them for good, or delete the node-id of the one whose DATA_DIR is the copy", e.NodeID, e.Owner)
}

// Lease is a node id held by this process. Make it with Acquire.
type Lease struct {
	opts    Options
	process string
	beating lifecycle.Loops

	// sure is the time (boottime) until which others leave this node alone while it is guarded. A node without a guard
	// is never ended.
	sure              atomic.Int64
	guarded, draining atomic.Bool
	wanted            atomic.Bool // there are other nodes
	alike             atomic.Bool // all of them have a node port, and this version
	clock             storeClock
}

// Acquire acquires the node id for this process. If a running server holds it, that server's next heartbeat reveals it:
// *HeldError. Acquire waits up to Patience for an unresponsive holder, unless it ran in this place, and then counts it
// as dead. Other errors come from the store or ctx.
func Acquire(ctx context.Context, opts Options) (*Lease, error) {
	if opts.Beat <= 0 {
		opts.Beat = Beat
	}
	if opts.Patience <= 0 {
		opts.Patience = Patience
	}
	if opts.CountTakeover == nil {
		opts.CountTakeover = func(context.Context, database.Tx) error { return nil }
	}
	l := &Lease{opts: opts, process: ids.New()}
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	return l, l.beating.Start(ctx, func(context.Context) error {
		l.beating.Go(l.beat)
		return nil
	})
}

// ttl is how long a heartbeat keeps the lease; own is how long this node relies on it.
func (l *Lease) ttl() time.Duration    { return beats * l.opts.Beat }
func (l *Lease) ownTTL() time.Duration { return l.ttl() - l.opts.Beat/2 }

// holder is the server with a node id.
type holder struct {
	process, place, owner string
	beat                  int64
}

// acquire retries until the node id is free, or its holder has been unresponsive for long enough. It fails when the
// holder shows that it is alive.
func (l *Lease) acquire(ctx context.Context) error {
	ticker := time.Tick(l.opts.Beat / 4)
	var unresponsive time.Time // the start, by our clock
	var last holder
	for {
		now, taken, err := l.tryAcquire(ctx, last, !unresponsive.IsZero() && time.Since(unresponsive) >= l.opts.Patience)
		switch {
		case err != nil:
			return err
		case taken:
			return nil
		case unresponsive.IsZero():
			l.opts.Logger.Info().Str("node", l.opts.NodeID).Str("by", now.owner).Dur("patience", l.opts.Patience).
				Msg("node id in use at its last heartbeat; waiting for its lease to end")
			unresponsive, last = time.Now(), now
		case now != last:
			return &HeldError{NodeID: l.opts.NodeID, Owner: now.owner}
		}
		select {
		case <-ticker:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAcquire acquires the node id if it is free, if its holder ran in this place, or if its holder is the one
// considered dead. Otherwise it returns the holder.
func (l *Lease) tryAcquire(ctx context.Context, unresponsive holder, giveUp bool) (now holder, taken bool, err error) {
	// The last lease of a previous process still binds its children.
	held, began := l.opts.Guard != nil && l.opts.Guard.Held(), boottime.Now()
	err = l.opts.DB.Update(ctx, func(tx database.Tx) error {
		taken = false
		// First, in the order in which a server that ends another node takes this lock. Otherwise the two could
		// deadlock.
		if err := l.opts.CountTakeover(ctx, tx); err != nil {
			return err
		}
		// The row exists and is locked before it is read, so one of two concurrent servers sees the other.
		_, err := tx.ExecContext(ctx,
			`insert into nodes (node_id, process, place, owner, beat, seen_at) values ($1, '', '', '', 0, 0)
			on conflict (node_id) do update set node_id = excluded.node_id`, l.opts.NodeID)
		if err != nil {
			return err
		}
		if now, err = l.holder(ctx, tx); err != nil {
			return err
		}
		free := now.process == "" || now.place != "" && now.place == l.opts.Place || giveUp && now == unresponsive
		if !free {
			return nil
		}
		taken = true
		if err := l.clock.read(ctx, l.opts.DB, tx); err != nil {
			return err
		}
		if err := noteClock(ctx, l.opts.DB, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx,
			`update nodes set process = $2, place = $3, owner = $4, beat = beat + 1, seen_at = $5, epoch = epoch + 1,
				lease_until = `+clock(l.opts.DB)+` + $6, grace = $7, guarded = $8, draining = 0, version = $9,
				address = $10, certificate = $11, roles = $12 where node_id = $1`,
			l.opts.NodeID, l.process, database.EncodeText(l.opts.Place), database.EncodeText(l.opts.Owner),
			l.Now().UnixMilli(), l.ttl().Milliseconds(), l.opts.Grace.Milliseconds(), number(held), l.opts.Version,
			l.opts.Address, l.opts.Certificate, rolesOf(l.opts.Roles))
		return err
	})
	if err != nil {
		return holder{}, false, fmt.Errorf("take node id %s: %w", l.opts.NodeID, err)
	}
	if taken {
		l.guarded.Store(held)
		l.wanted.Store(held)
		l.sure.Store(int64(began + l.ownTTL()))
	}
	return now, taken, nil
}

func (l *Lease) holder(ctx context.Context, q database.Querier) (h holder, err error) {
	err = q.QueryRowContext(ctx, `select process, place, owner, beat from nodes where node_id = $1`, l.opts.NodeID).
		Scan(&h.process, &h.place, &h.owner, &h.beat)
	h.place, h.owner = database.DecodeText(h.place), database.DecodeText(h.owner)
	return h, err
}

// beat renews the lease until ctx ends or another server has the node id. While the store does not answer, no server
// can take the node id.
func (l *Lease) beat(ctx context.Context) {
	ticker := time.Tick(l.opts.Beat)
	for failing := false; ; {
		select {
		case <-ticker:
		case <-ctx.Done():
			return
		}
		lost, err := l.beatOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				l.opts.Logger.Warn().Err(err).Msg("cannot renew this node's lease; trying again")
			}
		case lost != nil:
			l.opts.Lost(lost)
			return
		}
		failing = err != nil
	}
}

func (l *Lease) beatOnce(ctx context.Context) (lost *LostError, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Patience)
	defer cancel()
	// Read the time before the request, so that the lease granted by the store is longer.
	began, guarded, others, strangers := boottime.Now(), l.guarded.Load() && l.wanted.Load(), 0, 0
	err = l.opts.DB.Update(ctx, func(tx database.Tx) error {
		lost = nil
		result, err := tx.ExecContext(ctx,
			`update nodes set beat = beat + 1, seen_at = $3, lease_until = `+clock(l.opts.DB)+` + $4, grace = $5, guarded = $6
			where node_id = $1 and process = $2`,
			l.opts.NodeID, l.process, l.Now().UnixMilli(), l.ttl().Milliseconds(), l.opts.Grace.Milliseconds(), number(guarded))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			if err := errors.Join(l.clock.read(ctx, l.opts.DB, tx), noteClock(ctx, l.opts.DB, tx)); err != nil {
				return err
			}
			var draining int64
			other := `(select count(*) from nodes o where o.node_id <> $1 and o.process <> '' and
				o.lease_until + o.grace > ` + clock(l.opts.DB)
			err := tx.QueryRowContext(ctx, `select draining, `+other+`), `+other+` and (o.address = '' or o.version <> $2))
				from nodes where node_id = $1`, l.opts.NodeID, l.opts.Version).Scan(&draining, &others, &strangers)
			l.draining.Store(draining != 0)
			return err
		}
		now, err := l.holder(ctx, tx)
		if errors.Is(err, sql.ErrNoRows) {
			now.owner, err = "one that has ended since", nil
		}
		if err != nil {
			return err
		}
		lost = &LostError{NodeID: l.opts.NodeID, Owner: now.owner}
		return nil
	})
	l.alike.Store(err == nil && strangers == 0)
	if err != nil || lost != nil {
		return lost, err
	}
	return nil, l.guard(began, guarded, others)
}

// guard bounds what this node runs while there are other nodes, before any of them may take over. It removes the guard
// when no other node may take over.
func (l *Lease) guard(began time.Duration, guarded bool, others int) error {
	l.sure.Store(int64(began + l.ownTTL()))
	if l.opts.Guard == nil {
		return nil
	}
	l.wanted.Store(others > 0)
	switch {
	case others > 0 || guarded:
		l.guarded.Store(true)
		stop := began + l.ownTTL()
		return l.opts.Guard.Hold(stop, stop+l.opts.Grace)
	case l.guarded.Load() || l.opts.Guard.Held():
		l.guarded.Store(false)
		return l.opts.Guard.Lift()
	}
	return nil
}

// UnsureError means that other nodes may consider this node dead.
type UnsureError struct{ NodeID string }

// Error implements error.
func (e *UnsureError) Error() string {
	return fmt.Sprintf("node %s could not renew its lease in time, and is not sure that it is still its own", e.NodeID)
}

// Sure returns nil while no other node can consider this one dead; otherwise *UnsureError. A node without other nodes
// is always sure.
func (l *Lease) Sure() error {
	if !l.guarded.Load() || int64(boottime.Now()) < l.sure.Load() {
		return nil
	}
	return &UnsureError{NodeID: l.opts.NodeID}
}

// Draining reports whether this node should start nothing new.
func (l *Lease) Draining() bool { return l.draining.Load() }

// Alike reports whether all other nodes have a node port and this version, as of the last renewal of this lease.
func (l *Lease) Alike() bool { return l.alike.Load() }

// Owned returns nil if this process holds the node id within a transaction; otherwise *LostError.
func (l *Lease) Owned(ctx context.Context, tx database.Tx) error {
	now, err := l.holder(ctx, tx)
	if errors.Is(err, sql.ErrNoRows) {
		now, err = holder{}, nil
	}
	if err == nil && now.process != l.process {
		err = &LostError{NodeID: l.opts.NodeID, Owner: cmp.Or(now.owner, "no server now")}
	}
	return err
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Release releases the node id. It leaves a lost lease to its holder.
func (l *Lease) Release(ctx context.Context) error {
	if _, err := l.beating.Stop(ctx, "the beat of this node"); err != nil {
		return err
	}
	err := l.opts.DB.Update(ctx, func(tx database.Tx) error {
		_, err := tx.ExecContext(ctx, `update nodes set process = '', place = '' where node_id = $1 and process = $2`,
			l.opts.NodeID, l.process)
		return err
	})
	if err != nil {
		return fmt.Errorf("give up node id %s: %w", l.opts.NodeID, err)
	}
	return nil
}
