package codex

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// reasonLimit bounds the time to send codex the reason of a refusal.
const reasonLimit = 5 * time.Second

// reasonApart returns the reason of a refusal as a message to the agent, nil if the answer has it or there is none.
func reasonApart(ref runtime.RequestRef, reply runtime.Reply) []json.RawMessage {
	apart := ref.Method == wire.MethodApproveCommand || ref.Method == wire.MethodApproveFileChange ||
		ref.Method == wire.MethodApprovePermissions
	if !apart || reply.Decision != actionDecline || reply.Message == "" || reply.Refusal != "" {
		return nil
	}
	text, err := json.Marshal(object{"type": "text", "text": "This was declined: " + reply.Message})
	if err != nil { // a string always encodes
		return nil
	}
	return []json.RawMessage{text}
}

// sendReason sends the agent the reason of a refusal before the answer, which has no member for it. It steers: the
// turn waits for the answer, so its model gets both. A refusal never fails because of its reason.
func (c *conn) sendReason(ctx context.Context, ref runtime.RequestRef, reason []json.RawMessage) {
	ctx, cancel := context.WithTimeout(ctx, reasonLimit)
	defer cancel()
	_, err := c.steer(ctx, ref.ThreadID, ref.TurnID, reason)
	if err != nil && !errors.Is(err, runtime.ErrNoActiveTurn) {
		c.codex.log.Warn().Err(err).Str("session_id", ref.ThreadID).Str("turn_id", ref.TurnID).
			Msg("the reason of a refusal did not reach codex; the refusal does")
	}
}
