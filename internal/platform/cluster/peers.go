package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
)

// Peer is the address data of the server that holds a node id.
type Peer struct {
	NodeID string
	// Address is its node port as host:port. Certificate is the fingerprint of the certificate it presents there.
	// Either is "" for none.
	Address, Certificate string
	// Lease is the remaining time of its lease. Grace is the time until others may end what it runs. A negative value
	// means that the time is over.
	Lease, Grace time.Duration
	// Now is the store's clock, which is the same for all nodes.
	Now time.Time
}

// FindPeer finds the server that holds a node id, whether or not it is alive. It returns ErrUnknown if no server does:
// it was stopped, or another node ended it.
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

// Takers returns the nodes other than self that run agents, make new sessions and accept requests for them. Nodes with
// the fewest turns come first, in random order among equals.
func Takers(ctx context.Context, db *database.DB, self string) ([]string, error) {
	return database.ReadTexts(ctx, db.Read(), "find the nodes that make sessions", `select node_id from nodes
		where node_id <> $1 and process <> '' and address <> '' and draining = 0 and
		lease_until > `+clock(db)+` and roles like '%`+RoleRunner+`%'
		order by (select count(*) from turns t where t.node_id = nodes.node_id and t.status = 'inProgress'),
			random()`, self)
}

// Runners returns the nodes other than self that run agents and accept requests.
func Runners(ctx context.Context, db *database.DB, self string) ([]string, error) {
	return database.ReadTexts(ctx, db.Read(), "find the nodes that run agents", `select node_id from nodes
		where node_id <> $1 and process <> '' and address <> '' and
		lease_until > `+clock(db)+` and roles like '%`+RoleRunner+`%' order by node_id`, self)
}

// First reports whether a node is the one, among nodes with a valid lease, that does work for which one node is enough.
// Two nodes may briefly both get true.
func First(ctx context.Context, db *database.DB, self string) (bool, error) {
	var before int64
	err := db.Read().QueryRowContext(ctx, `select count(*) from nodes where node_id < $1 and process <> '' and lease_until > `+clock(db),
		self).Scan(&before)
	if err != nil {
		return false, fmt.Errorf("look for the first node: %w", err)
	}
	return before == 0, nil
}

// Shows reports whether a node with a valid lease presents the certificate with this fingerprint.
func Shows(ctx context.Context, db *database.DB, certificate string) (bool, error) {
	var found int64
	err := db.Read().QueryRowContext(ctx, `select count(*) from nodes where certificate = $1 and process <> '' and lease_until > `+
		clock(db), certificate).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for the node with a certificate: %w", err)
	}
	return found > 0, nil
}
