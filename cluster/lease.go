// Package cluster owns who is who among the servers of one store: a node id belongs to one running server at a time.
//
// It knows nothing of what a node does. Whether a server lives is told by its own count of beats in the store, not by
// comparing the clocks of two machines.
package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"harness/database"
	"harness/internal/lifecycle"
)

// The pace of leases.
const (
	// Beat is how often a node says that it lives.
	Beat = 2 * time.Second
	// Patience is how long a node must have been silent to be taken for dead.
	Patience = 5 * Beat
)

// Options are what a Lease is taken with. DB and NodeID are required.
type Options struct {
	DB     *database.DB
	NodeID string
	// Place is the one place this server runs in, of which it is known that no other server runs there (it holds its data
	// directory's lock): what a predecessor in the same place left is taken at once. "" is no such place.
	Place string
	// Owner says in words which server this is, for the message that refuses another one.
	Owner string
	// Lost is told, once, that another server has taken the node id: this one must end.
	Lost   func(error)
	Logger zerolog.Logger
	// Beat and Patience are the constants when 0.
	Beat, Patience time.Duration
}

// HeldError refuses a node id that a running server has.
type HeldError struct {
	NodeID string
	// Owner is what that server says of itself.
	Owner string
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf(
		"node %s is already running: %s. Two servers on one database need a node id each: if this DATA_DIR is a copy of that "+
			"server's, delete its file node-id (a new id is made) and its folder run; if it is to replace that server, stop that one first",
		e.NodeID, e.Owner)
}

// LostError says that another server took this one's node id while it was silent.
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
}

// Acquire makes the node id this process's. A running server that has it is noticed by its next beat: *HeldError. One
// that fell silent is waited for up to Patience, unless it ran in this place, and then taken for dead. Other errors are
// the store's, or ctx's.
func Acquire(ctx context.Context, opts Options) (*Lease, error) {
	if opts.Beat <= 0 {
		opts.Beat = Beat
	}
	if opts.Patience <= 0 {
		opts.Patience = Patience
	}
	l := &Lease{opts: opts, process: uuid.Must(uuid.NewV7()).String()}
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	return l, l.beating.Start(ctx, func(context.Context) error {
		l.beating.Go(l.beat)
		return nil
	})
}

// holder is who has a node id.
type holder struct {
	process, place, owner string
	beat                  int64
}

// take asks until the node id is free, its holder shows that it lives, or has been silent for long enough.
func (l *Lease) take(ctx context.Context) error {
	ticker := time.NewTicker(l.opts.Beat / 4)
	defer ticker.Stop()
	var silent time.Time // since when, by our clock
	var last holder
	for {
		now, taken, err := l.tryTake(ctx, last, !silent.IsZero() && time.Since(silent) >= l.opts.Patience)
		switch {
		case err != nil:
			return err
		case taken:
			return nil
		case silent.IsZero():
			l.opts.Logger.Info().Str("node", l.opts.NodeID).Str("by", now.owner).Dur("patience", l.opts.Patience).
				Msg("this node id was in use when its server was last heard of; waiting to see whether it still runs")
			silent, last = time.Now(), now
		case now != last:
			return &HeldError{NodeID: l.opts.NodeID, Owner: now.owner}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryTake takes the node id when nobody has it, who has it ran in this place, or is the one given up. Else it tells who
// has it.
func (l *Lease) tryTake(ctx context.Context, silent holder, giveUp bool) (now holder, taken bool, err error) {
	err = l.opts.DB.Update(ctx, func(tx database.Tx) error {
		taken = false
		// The row is there and locked before it is read: of two who come at once, one sees the other.
		_, err := tx.ExecContext(ctx,
			`insert into nodes (node_id, process, place, owner, beat, seen_at) values ($1, '', '', '', 0, 0)
			on conflict (node_id) do update set node_id = excluded.node_id`, l.opts.NodeID)
		if err != nil {
			return err
		}
		if now, err = l.holder(ctx, tx); err != nil {
			return err
		}
		free := now.process == "" || now.place != "" && now.place == l.opts.Place || giveUp && now == silent
		if !free {
			return nil
		}
		taken = true
		_, err = tx.ExecContext(ctx,
			`update nodes set process = $2, place = $3, owner = $4, beat = beat + 1, seen_at = $5 where node_id = $1`,
			l.opts.NodeID, l.process, database.EncodeText(l.opts.Place), database.EncodeText(l.opts.Owner),
			time.Now().UnixMilli())
		return err
	})
	if err != nil {
		return holder{}, false, fmt.Errorf("take node id %s: %w", l.opts.NodeID, err)
	}
	return now, taken, nil
}

func (l *Lease) holder(ctx context.Context, q database.Querier) (h holder, err error) {
	err = q.QueryRowContext(ctx, `select process, place, owner, beat from nodes where node_id = $1`, l.opts.NodeID).
		Scan(&h.process, &h.place, &h.owner, &h.beat)
	h.place, h.owner = database.DecodeText(h.place), database.DecodeText(h.owner)
	return h, err
}

// beat says that this process lives until ctx ends or the node id is somebody else's. While the store does not answer
// nobody can take it.
func (l *Lease) beat(ctx context.Context) {
	ticker := time.NewTicker(l.opts.Beat)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		lost, err := l.beatOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				l.opts.Logger.Warn().Err(err).Msg("cannot tell the database that this node lives; trying again")
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
	err = l.opts.DB.Update(ctx, func(tx database.Tx) error {
		lost = nil
		result, err := tx.ExecContext(ctx,
			`update nodes set beat = beat + 1, seen_at = $3 where node_id = $1 and process = $2`,
			l.opts.NodeID, l.process, time.Now().UnixMilli())
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
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
	return lost, err
}

// Release gives the node id up. A lease that was lost is left to who has it.
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
