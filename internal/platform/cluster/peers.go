package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
)

// Peer is how other nodes reach the server that has a node id.
type Peer struct {
	NodeID string
	// Address is its node port as host:port, Certificate the fingerprint of what it shows there; "" for none.
	Address, Certificate string
	// Lease is how long its lease lasts still, Grace how long it is before others may end what it runs. Below 0 either is over.
	Lease, Grace time.Duration
	// Now is the store's clock, which is the same for all nodes.
	Now time.Time
}

// FindPeer finds the server that has a node id, whether it lives or not. ErrUnknown when none has: it was stopped, or
// ended by another node.
func FindPeer(ctx context.Context, db *database.DB, nodeID string) (Peer, error) {
	peer := Peer{NodeID: nodeID}
	var until, grace, now int64
	err := db.Read().QueryRowContext(ctx, `select address, certificate, lease_until, grace, `+clock(db)+`
		from nodes where node_id = $1 and process <> ''`, nodeID).Scan(&peer.Address, &peer.Certificate, &until, &grace, &now)
	if errors.Is(err, sql.ErrNoRows) {
		return Peer{}, ErrUnknown
	}
	if err != nil {
		return Peer{}, fmt.Errorf("find node %s: %w", nodeID, err)
	}
	peer.Now = time.UnixMilli(now)
	peer.Lease = time.Duration(until-now) * time.Millisecond
	peer.Grace = peer.Lease + time.Duration(grace)*time.Millisecond
	return peer, nil
}

// Takers returns the nodes other than self that run agents, make new sessions and can be asked for it, those with the
// fewest turns first, at random among equals.
func Takers(ctx context.Context, db *database.DB, self string) ([]string, error) {
	return database.ReadTexts(ctx, db.Read(), "find the nodes that make sessions", `select node_id from nodes
		where node_id <> $1 and process <> '' and address <> '' and draining = 0 and
		lease_until > `+clock(db)+` and roles like '%`+RoleRunner+`%'
		order by (select count(*) from turns t where t.node_id = nodes.node_id and t.status = 'inProgress'),
			random()`, self)
}

// Runners returns the nodes other than self that run agents and can be asked.
func Runners(ctx context.Context, db *database.DB, self string) ([]string, error) {
	return database.ReadTexts(ctx, db.Read(), "find the nodes that run agents", `select node_id from nodes
		where node_id <> $1 and process <> '' and address <> '' and
		lease_until > `+clock(db)+` and roles like '%`+RoleRunner+`%' order by node_id`, self)
}

// First reports whether a node is the one, of those whose leases are not over, that does what one of them is enough for.
// Two may think so of themselves for a moment.
func First(ctx context.Context, db *database.DB, self string) (bool, error) {
	var before int64
	err := db.Read().QueryRowContext(ctx, `select count(*) from nodes where node_id < $1 and process <> '' and lease_until > `+clock(db),
		self).Scan(&before)
	if err != nil {
		return false, fmt.Errorf("look for the first node: %w", err)
	}
	return before == 0, nil
}

// Shows reports whether a node whose lease is not over shows the certificate with this fingerprint.
func Shows(ctx context.Context, db *database.DB, certificate string) (bool, error) {
	var found int64
	err := db.Read().QueryRowContext(ctx, `select count(*) from nodes where certificate = $1 and process <> '' and lease_until > `+
		clock(db), certificate).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for the node with a certificate: %w", err)
	}
	return found > 0, nil
}
