package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"harness/internal/lib/version"
	"harness/internal/platform/cluster"
	"harness/internal/platform/cluster/bus"
	"harness/internal/platform/cluster/livetext"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/process/shim"
	"harness/internal/services/session/store"
)

// nodes are the parts that work with other servers on the same store. All but core is nil on SQLite.
type nodes struct {
	*core
	watch    *cluster.Watch
	bus      *bus.Bus          // nil without HARNESS_NODE_ADDRESS
	liveText *livetext.Carrier // nil if bus is nil
}

// startNode ensures that no other server on this database uses this node id: each would settle jobs and turns that the
// other one runs.
func (s *nodes) startNode(ctx context.Context) error {
	if s.db.Engine() == database.SQLite {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of this machine: %w", err)
	}
	shims, err := s.shimHost()
	if err != nil {
		return err
	}
	opts := cluster.Options{
		DB: s.db, NodeID: s.dir.NodeID, Place: s.dir.Place(), Logger: s.log.With().Str("package", "cluster").Logger(),
		Owner: fmt.Sprintf("process %d on %s with DATA_DIR=%s", os.Getpid(), host, s.dir.Path),
		Roles: s.cfg.Roles, Lost: s.fail, Grace: s.cfg.NodeGrace, CountTakeover: journal.CountTakeover, Version: version.Program(),
	}
	if s.nodePort != nil {
		opts.Address, opts.Certificate = s.nodePort.address, s.nodePort.identity.Fingerprint()
	}
	// Runtimes that are children of this process end with it, and nothing else stops them: other nodes do not take over
	// such a node.
	if s.cfg.DetachGrace > 0 {
		opts.Guard = shim.Lease{RunDir: shims.RunDir}
	}
	if s.node, err = cluster.Acquire(ctx, opts); err == nil {
		s.metrics.Nodes.Watch(s.node)
	}
	return err
}

// now returns the time shared by all nodes of a store. Stored times, and times compared with stored ones, need it
// because this machine's clock may be wrong. On SQLite it is the machine's time.
func (s *core) now() time.Time {
	if s.node == nil {
		return time.Now()
	}
	return s.node.Now()
}

func (s *nodes) stopNode(ctx context.Context) error {
	if s.node == nil {
		return nil
	}
	return s.node.Release(ctx)
}

// owned returns the journal's fence; sure returns the check that a node starts nothing if it may have lost its lease.
// Both are nil on SQLite.
func (s *core) owned() func(ctx context.Context, tx database.Tx) error {
	if s.node == nil || switchedOff("fence") {
		return nil
	}
	return func(ctx context.Context, tx database.Tx) error {
		err := s.node.Owned(ctx, tx)
		if lost := (*cluster.LostError)(nil); errors.As(err, &lost) {
			return &journal.OutageError{Engine: s.db.Engine(), Since: time.Now(), Cause: lost} // clients see it as an outage
		}
		return err
	}
}

func (s *core) sure() func() error {
	if s.node == nil || switchedOff("sure-lease") {
		return nil
	}
	return s.node.Sure
}

// announce makes the bus, nil without a node port, and returns the function by which the journal announces events on
// it.
func (s *nodes) announce() func() {
	if s.nodePort == nil {
		return nil
	}
	s.bus = bus.New(bus.Options{DB: s.db, Self: s.dir.NodeID, Poll: func() { s.journal.PollNow() },
		Logger: s.log.With().Str("package", "bus").Logger(), Sent: s.metrics.Nodes.Sent.Inc, Received: s.metrics.Nodes.Received.Inc})
	return s.bus.Announce
}

// releasesEarly returns a function that reports whether all nodes delay reads until their rows are durable; nil if this
// node does not.
func (s *core) releasesEarly() func() bool {
	if s.nodePort == nil {
		return nil
	}
	return s.node.Alike
}

func (s *nodes) startBus(ctx context.Context) error {
	if s.bus == nil {
		return nil
	}
	return s.bus.Start(ctx)
}

func (s *nodes) stopBus(ctx context.Context) error {
	if s.bus == nil {
		return nil
	}
	return s.bus.Stop(ctx)
}

// draining reports whether this server must not start new work (harness nodes drain).
func (s *core) draining() bool { return s.node != nil && s.node.Draining() }

// startWatch starts to settle open state of other nodes.
func (s *nodes) startWatch(ctx context.Context) error {
	if s.node == nil {
		return nil
	}
	logger := s.log.With().Str("package", "cluster").Logger()
	s.watch = cluster.NewWatch(cluster.WatchOptions{DB: s.db, Lease: s.node, Logger: logger,
		End: func(ctx context.Context, node cluster.UnresponsiveNode) error {
			err := s.sessions.EndNode(ctx, node.NodeID, func(ctx context.Context, tx database.Tx) error {
				if err := journal.CountTakeover(ctx, tx); err != nil {
					return err
				}
				return node.Claim(ctx, s.db, tx)
			})
			if err == nil {
				s.metrics.Nodes.Ended.Inc()
				logger.Warn().Str("node", node.NodeID).Str("owner", node.Owner).
					Msg("a node did not renew its lease; its turns, requests and jobs are ended")
			}
			return err
		}})
	return s.watch.Start(ctx)
}

func (s *nodes) stopWatch(ctx context.Context) error {
	if s.watch == nil {
		return nil
	}
	return s.watch.Stop(ctx)
}

// endLost ends the runtimes of an earlier server here if another node has ended their turns: no server reads their
// output anymore.
func (s *runtimes) endLost(ctx context.Context) error {
	if s.node == nil {
		return nil
	}
	found, err := shim.Discover(s.shims.RunDir)
	if err != nil {
		return err
	}
	for _, f := range found {
		if !f.Alive {
			continue
		}
		ended, err := store.Ended(ctx, s.db.Read(), f.Generation)
		if err == nil && ended {
			s.log.Warn().Str("runtime", f.State.Runtime).Str("generation", f.Generation).
				Msg("another node ended this node's turns; ending the runtime")
			_, _, err = shim.Reap(ctx, f)
		}
		if err != nil {
			return fmt.Errorf("end a runtime of an earlier server: %w", err)
		}
	}
	return nil
}
