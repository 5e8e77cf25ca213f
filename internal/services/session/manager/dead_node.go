package manager

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// eventNodeEnded tells that another node was taken for dead; it shows no frame.
const eventNodeEnded = "node.ended"

// EndNode ends what a node that died left open, in one unit with claim, which refuses when it is not to be ended: its
// turns are interrupted, its requests expire, and its runtime processes are over, should they be found one day. Its
// sessions stay its own: their conversations are in files of that machine.
func (s *Service) EndNode(ctx context.Context, node string, claim func(ctx context.Context, tx database.Tx) error) error {
	reason := fmt.Sprintf("The server that ran this turn (node %s) was not heard of for too long.", node)
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := claim(ctx, tx); err != nil {
			return nil, err
		}
		at := s.now()
		events, err := s.sweep(ctx, tx, node, func(string) bool { return true }, reason, at)
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `update runtime_spools set ended = 1, updated_at = $2 where node_id = $1 and ended = 0`,
			node, at)
		if err != nil {
			return nil, fmt.Errorf("note the end of the runtimes of node %s: %w", node, err)
		}
		return append(events, journal.Event{Type: eventNodeEnded, Time: at, Source: session.EventSource, Payload: encode(struct {
			NodeID string `json:"nodeId"`
			By     string `json:"by"`
		}{node, s.opts.NodeID})}), nil
	})
}

// Ended tells whether a runtime process was declared over: by its own last words, or, when its node was taken for dead,
// by another node. What it says afterwards is nobody's.
func Ended(ctx context.Context, q database.Querier, generation string) (bool, error) {
	var ended int
	err := q.QueryRowContext(ctx, `select count(*) from runtime_spools where generation = $1 and ended = 1`, generation).
		Scan(&ended)
	if err != nil {
		return false, fmt.Errorf("read whether runtime process %s is over: %w", generation, err)
	}
	return ended > 0, nil
}
