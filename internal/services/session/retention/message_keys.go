package retention

import (
	"context"

	"harness/internal/services/session/store"
)

// messageKeys prunes the results of messages with keys.
func (p pruner) messageKeys(ctx context.Context) error {
	return p.Rows(ctx, "message_keys", "key", `created_at <= $1`, p.at-store.MessageKeysKept.Milliseconds())
}
