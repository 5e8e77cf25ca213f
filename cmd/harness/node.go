package main

import (
	"context"
	"fmt"
	"os"

	"harness/cluster"
	"harness/database"
)

// startNode makes sure that no other server on this database has this one's node id: of two, each would settle what the
// other one runs.
func (s *Server) startNode(ctx context.Context) error {
	if s.db.Engine() == database.SQLite {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of this machine: %w", err)
	}
	s.node, err = cluster.Acquire(ctx, cluster.Options{
		DB: s.db, NodeID: s.dir.nodeID, Place: s.dir.place(), Logger: s.log.With().Str("package", "cluster").Logger(),
		Owner: fmt.Sprintf("process %d on %s with DATA_DIR=%s", os.Getpid(), host, s.dir.path),
		Lost:  s.fail,
	})
	return err
}

func (s *Server) stopNode(ctx context.Context) error {
	if s.node == nil {
		return nil
	}
	return s.node.Release(ctx)
}
