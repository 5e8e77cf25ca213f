package cluster

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// ErrUnknown means that no node with this id has ever run on the store, or that the node has been deleted.
var ErrUnknown = errors.New("no such node")

// Node describes a node to other nodes.
type Node struct {
	NodeID  string `json:"nodeId"`
	State   State  `json:"state"`
	Owner   string `json:"owner"`
	Version string `json:"version"`
	// Address is its node port, "" without one.
	Address string `json:"address"`
	// Roles are its roles, as in HARNESS_ROLES.
	Roles string `json:"roles"`
	Epoch int64  `json:"epoch"`
	// LeaseMS is the remaining time of its lease; it is negative if the lease has expired.
	LeaseMS int64 `json:"leaseMs"`
	// Sessions is the number of sessions it owns, Turns the number of turns running in them.
	Sessions int64 `json:"sessions"`
	Turns    int64 `json:"turns"`
}

// State is the state of a node.
type State string

// The states of a node. A lapsed node has not renewed its lease, and may return. A stopped node has ended itself, or
// another node ended it.
const (
	Up       State = "up"
	Draining State = "draining"
	Lapsed   State = "lapsed"
	Stopped  State = "stopped"
)

// List lists the nodes of a store, by id.
func List(ctx context.Context, db *database.DB) ([]Node, error) {
	return database.ReadAll(ctx, db.Read(), "list the nodes", func(row database.Row) (n Node, err error) {
		var process string
		var draining int64
		err = row.Scan(&n.NodeID, &process, &n.Owner, &n.Version, &n.Address, &n.Roles, &n.Epoch, &n.LeaseMS, &draining,
			&n.Sessions, &n.Turns)
		n.Owner = database.DecodeText(n.Owner)
		switch {
		case process == "":
			n.State = Stopped
		case n.LeaseMS <= 0:
			n.State = Lapsed
		case draining != 0:
			n.State = Draining
		default:
			n.State = Up
		}
		return n, err
	}, `select node_id, process, owner, version, address, roles, epoch, lease_until - `+clock(db)+`, draining,
		(select count(*) from sessions s where s.node_id = nodes.node_id),
		(select count(*) from turns t where t.node_id = nodes.node_id and t.status = 'inProgress')
		from nodes order by node_id`)
}

// Drain stops a node from starting new work, within one heartbeat, until its server is restarted. ErrUnknown.
func Drain(ctx context.Context, db *database.DB, nodeID string) error {
	return db.Update(ctx, func(tx database.Tx) error {
		result, err := tx.ExecContext(ctx, `update nodes set draining = 1 where node_id = $1 and process <> ''`, nodeID)
		if err != nil {
			return fmt.Errorf("drain node %s: %w", nodeID, err)
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("%w, or it does not run: %s", ErrUnknown, nodeID)
	})
}
