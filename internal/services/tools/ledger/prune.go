package ledger

import (
	"context"

	"harness/internal/platform/journal"
)

// Prune removes ended calls beyond a retention, and the access of deleted sessions.
func Prune(ctx context.Context, p journal.Pruner, keep journal.Retention) error {
	err := p.Ended(ctx, keep, journal.Ended{Table: "tool_calls", Key: "id", At: "settled_at", Over: "settled_at > 0"})
	if err != nil {
		return err
	}
	return p.Rows(ctx, "tool_grants", "grant_id",
		`not exists (select 1 from sessions where id = tool_grants.session_id)`)
}
