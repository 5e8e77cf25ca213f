// Package cluster owns the identity of the servers of one store: a node id belongs to one running server at a
// time.
//
// It knows nothing of what a node does. A lease expires by the database's clock. A server that ends another
// node has also seen it unresponsive for as long by its own clock.
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

// The pace of leases.
const (
	// Beat is the interval of a node's heartbeat.
	Beat = 2 * time.Second
	// Patience is how long a node must have been unresponsive to count as dead.
	Patience = 5 * Beat
	// TTL is how long a lease lasts from a beat on. Within it another node waits for this one.
	TTL = beats * Beat
	// beats are how many a lease lasts.
	beats = 4
)

// Guard stops what this node runs by itself when its lease is over, whether this process can act then or not. Times are
// those of package boottime.
type Guard interface {
	// Hold lets what runs continue until stop, and be resumed until kill.
	Hold(stop, kill time.Duration) error
	// Lift takes all bounds away. Held reports whether there are some.
	Lift() error
	Held() bool
}

// Options configure a Lease. DB and NodeID are required.
type Options struct {
	DB     *database.DB
	NodeID string
	// Place is the one place this server runs in, of which it is known that no other server runs there (it holds its data
	// directory's lock): what a predecessor in the same place left is taken at once. "" is no such place.
	Place string
	// Owner describes this server in the message that refuses another one.
	Owner string
	// Lost is called, once, when another server has taken the node id: this one must end.
	Lost   func(error)
	Logger zerolog.Logger
	// Grace is how long after the end of the lease others wait before they end what this node ran.
	Grace time.Duration
	// Guard is called while there are other nodes; nil: no server takes over this node by itself.
	Guard Guard
	// CountTakeover is called within a transaction, before anything else in it, when a node id changes hands.
	CountTakeover func(ctx context.Context, tx database.Tx) error
	// Version is this server's, for people.
	Version string
	// Address is where other nodes reach this one, Certificate the fingerprint of what it shows there. "": they do not.
	Address, Certificate string
	// Roles are the roles of this node: RoleAPI, RoleRunner; none means both.
	Roles []string
	// Beat and Patience are the constants when 0.
	Beat, Patience time.Duration
}

// HeldError refuses a node id that a running server has.
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

// LostError means that another server took this one's node id while it was unresponsive.
type LostError struct{ NodeID, Owner string }

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf(
		"node %s was taken over by another server while this one was silent: %s. Both had the same DATA_DIR/node-id: end one of "+
			"them for good, or delete the node-id of the one whose DATA_DIR is the copy", e.NodeID, e.Owner)
}

// Lease is a node id that is this process's. Make it with Acquire.
type Lease struct {
	opts    Options
	process string
	beating lifecycle.Loops

	// sure is until when (boottime) others leave this node alone while it is guarded; a node without a guard is
	// never ended.
	sure              atomic.Int64
	guarded, draining atomic.Bool
	wanted            atomic.Bool // there are other nodes
	alike             atomic.Bool // all of them have a node port, and are of this version
	clock             storeClock
}

// Acquire makes the node id this process's. A running server that has it is noticed by its next beat: *HeldError. One
// that became unresponsive is waited for up to Patience, unless it ran in this place, and then counts as dead. Other errors are
// the store's, or ctx's.
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

// ttl is how long a beat is good for, own for how long this node trusts in it.
func (l *Lease) ttl() time.Duration    { return beats * l.opts.Beat }
func (l *Lease) ownTTL() time.Duration { return l.ttl() - l.opts.Beat/2 }

// holder is the server with a node id.
type holder struct {
	process, place, owner string
	beat                  int64
}

// acquire asks until the node id is free, its holder shows that it lives, or has been unresponsive for long enough.
func (l *Lease) acquire(ctx context.Context) error {
	ticker := time.Tick(l.opts.Beat / 4)
	var unresponsive time.Time // since when, by our clock
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
				Msg("this node id was in use at its server's last heartbeat; waiting to find out whether it still runs")
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

// tryAcquire acquires the node id when it is free, when its holder ran in this place, or when its holder is the
// one given up. Otherwise it returns the holder.
func (l *Lease) tryAcquire(ctx context.Context, unresponsive holder, giveUp bool) (now holder, taken bool, err error) {
	// A former process's last lease still binds its children.
	held, began := l.opts.Guard != nil && l.opts.Guard.Held(), boottime.Now()
	err = l.opts.DB.Update(ctx, func(tx database.Tx) error {
		taken = false
		// First, in the order in which a server that ends another node locks it: otherwise the two could
		// deadlock.
		if err := l.opts.CountTakeover(ctx, tx); err != nil {
			return err
		}
		// The row exists and is locked before it is read: of two concurrent servers, one sees the other.
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

// beat renews the lease until ctx ends or another server has the node id. While the store does not answer no
// server can take it.
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
	// Before it is asked: the lease that the store gives is longer.
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

// guard confines what this node runs while there are others, before any of them may take over. It removes the
// guard when no other node may.
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

// Sure is nil while no other node can have taken this one for dead; else *UnsureError. A node that has no other beside
// it is always sure.
func (l *Lease) Sure() error {
	if !l.guarded.Load() || int64(boottime.Now()) < l.sure.Load() {
		return nil
	}
	return &UnsureError{NodeID: l.opts.NodeID}
}

// Draining reports whether this node is to begin nothing new.
func (l *Lease) Draining() bool { return l.draining.Load() }

// Alike reports whether all other nodes have a node port and are of this version, as of the last renewal of this lease.
func (l *Lease) Alike() bool { return l.alike.Load() }

// Owned is nil when the node id is this process's within a transaction; else *LostError.
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
