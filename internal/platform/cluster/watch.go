package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/boottime"
	"harness/internal/lib/lifecycle"
	"harness/internal/platform/database"
)

// ErrTaken means that another server ended the node first, or that the node is alive.
var ErrTaken = errors.New("the node is not to be ended by this server")

// UnresponsiveNode is an unresponsive node: its lease and its grace are over.
type UnresponsiveNode struct {
	NodeID, Owner string
	Epoch         int64
	leaseUntil    int64
	ttl           int64 // ms
}

// Claim lets the caller end the node's open state: from this transaction on, no writes of the node's process are
// accepted. CountTakeover comes before it in the same transaction. ErrTaken.
func (s UnresponsiveNode) Claim(ctx context.Context, db *database.DB, tx database.Tx) error {
	result, err := tx.ExecContext(ctx, `update nodes set process = '', place = '', guarded = 0, epoch = epoch + 1
		where node_id = $1 and epoch = $2 and lease_until = $3 and guarded = 1 and lease_until + grace <= `+clock(db)+
		` and `+trusted(db, "$4"), s.NodeID, s.Epoch, s.leaseUntil, s.ttl)
	if err != nil {
		return fmt.Errorf("take the place of node %s: %w", s.NodeID, err)
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return ErrTaken
}

// WatchOptions configure a Watch. All are required.
type WatchOptions struct {
	DB    *database.DB
	Lease *Lease
	// End ends a node's open state; it is called again if it fails. ErrTaken is not a failure.
	End    func(ctx context.Context, node UnresponsiveNode) error
	Logger zerolog.Logger
	// Beat is the heartbeat interval of all nodes; 0 means the constant.
	Beat time.Duration
}

// Watch monitors the other nodes, and ends the open state of dead ones. The zero value is not usable: call NewWatch.
type Watch struct {
	opts WatchOptions
	// since is the time (boottime) at which a node was first seen in its current state.
	since map[UnresponsiveNode]time.Duration
	loops lifecycle.Loops
}

// NewWatch makes a Watch; it polls from Start to Stop.
func NewWatch(opts WatchOptions) *Watch {
	if opts.Beat <= 0 {
		opts.Beat = Beat
	}
	return &Watch{opts: opts, since: map[UnresponsiveNode]time.Duration{}}
}

// Start starts polling.
func (w *Watch) Start(ctx context.Context) error {
	return w.loops.Start(ctx, func(context.Context) error {
		w.loops.Go(w.run)
		return nil
	})
}

// Stop stops polling, and waits for its end.
func (w *Watch) Stop(ctx context.Context) error {
	_, err := w.loops.Stop(ctx, "the watch over other nodes")
	return err
}

func (w *Watch) run(ctx context.Context) {
	ticker := time.Tick(w.opts.Beat)
	for {
		select {
		case <-ticker:
		case <-ctx.Done():
			return
		}
		over, err := w.poll(ctx)
		for _, node := range over {
			if ended := w.opts.End(ctx, node); ended != nil && !errors.Is(ended, ErrTaken) {
				err = errors.Join(err, ended)
			}
		}
		if err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn().Err(err).Msg("cannot clean up after dead nodes; retrying")
		}
	}
}

// poll finds the nodes whose time is over by the store's clock, and which were unresponsive for as long by our clock. A
// failed poll restarts that time: the store may now be another server, with another clock.
func (w *Watch) poll(ctx context.Context) (over []UnresponsiveNode, err error) {
	if err := w.opts.Lease.Sure(); err != nil {
		clear(w.since)
		return nil, nil // the lease reports the reason
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	type observed struct {
		UnresponsiveNode
		over, grace int64
	}
	nodes, err := database.ReadAll(ctx, w.opts.DB.Read(), "read the other nodes", func(row database.Row) (s observed, err error) {
		err = row.Scan(&s.NodeID, &s.Owner, &s.Epoch, &s.leaseUntil, &s.grace, &s.over)
		s.Owner, s.ttl = database.DecodeText(s.Owner), w.opts.Lease.ttl().Milliseconds()
		return s, err
	}, `select node_id, owner, epoch, lease_until, grace, case when lease_until + grace <= `+clock(w.opts.DB)+` and `+
		trusted(w.opts.DB, "$2")+` then 1 else 0 end from nodes where node_id <> $1 and guarded = 1`, w.opts.Lease.opts.NodeID,
		w.opts.Lease.ttl().Milliseconds())
	if err != nil {
		clear(w.since)
		return nil, err
	}
	now, last := boottime.Now(), w.since
	w.since = make(map[UnresponsiveNode]time.Duration, len(nodes))
	for _, node := range nodes {
		since, known := last[node.UnresponsiveNode]
		if !known {
			since = now
		}
		w.since[node.UnresponsiveNode] = since
		if node.over != 0 && now-since >= (beats-1)*w.opts.Beat+time.Duration(node.grace)*time.Millisecond {
			over = append(over, node.UnresponsiveNode)
		}
	}
	return over, nil
}
