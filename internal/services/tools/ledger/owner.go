package ledger

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/tools"
)

// MovedError means that a call was refused, or not started, because its session moved to another node: this node's
// agent no longer owns the session.
type MovedError struct{ SessionID, Owner string }

// Error implements error.
func (e *MovedError) Error() string {
	return fmt.Sprintf("session %s was taken over by node %s: nothing was run", e.SessionID, e.Owner)
}

// owned is the fence of calls. In the transaction that accepts or starts a call, it checks that this node has owned the
// session since the call was made. Otherwise *MovedError.
func (l *Ledger) owned(ctx context.Context, tx database.Tx, call tools.Call) error {
	others, err := database.ReadTexts(ctx, tx, "look whose session a tool call is of",
		`select node_id from sessions where id = $1 and (node_id <> $2 or epoch <> $3)`, database.EncodeText(call.SessionID),
		l.nodeID, call.Epoch)
	if err != nil || len(others) == 0 {
		return err
	}
	return journal.Refuse(&MovedError{call.SessionID, others[0]})
}
