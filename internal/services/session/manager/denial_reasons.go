package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// denialReasons are why people denied what the last turn of a session asked, in words for its agent; "" for none. It is
// for runtimes that take no reason with a denial (Capabilities.DenyReason): their agents are told with the next message.
// A message that begins a turn makes that the last one, so each reason is told once.
func (s *Service) denialReasons(ctx context.Context, adapter runtime.Adapter, sessionID string) (string, error) {
	if runtime.CapabilitiesOf(adapter).DenyReason {
		return "", nil
	}
	var turnID string
	err := s.db.Read().QueryRowContext(ctx, `select turn_id from turns where session_id = $1
		order by started_at desc, turn_id desc limit 1`, database.EncodeText(sessionID)).Scan(&turnID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the last turn of session %s: %w", sessionID, err)
	}
	settled, err := queryRequests(ctx, s.db.Read(), `where session_id = $1 and turn_id = $2 and status = 'resolved'
		order by settled_at, id`, database.EncodeText(sessionID), turnID)
	if err != nil {
		return "", err
	}
	var reasons strings.Builder
	for _, r := range settled {
		if r.ReasonGiven() {
			fmt.Fprintf(&reasons, "\n- %s\n  Reason: %s", r.Summary, r.Reply.Message)
		}
	}
	if reasons.Len() == 0 {
		return "", nil
	}
	return "In the last turn the user denied the following, and said why:" + reasons.String(), nil
}
