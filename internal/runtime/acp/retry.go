package acp

import (
	"encoding/json"
	"fmt"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// methodSDKMessage is the notification in which claude-agent-acp passes on Claude Code's messages, as requested
// (Profile.SessionMeta).
const methodSDKMessage = "_claude/sdkMessage"

// retried handles such a message about a turn that cannot reach its model.
func (t *translator) retried(of *conversation, params json.RawMessage) []runtime.Signal {
	var said struct {
		Message struct {
			Subtype string `json:"subtype"`
			Attempt int    `json:"attempt"`
			Of      int    `json:"max_retries"`
			Status  int    `json:"error_status"`
			Error   string `json:"error"`
		} `json:"message"`
	}
	_ = json.Unmarshal(params, &said) // the decoder skips members of another type
	if m := said.Message; of != nil && m.Subtype == "api_retry" {
		reason := "The model's server could not be reached or broke off (" + m.Error + ")"
		if m.Status != 0 {
			reason = fmt.Sprintf("The model's server answered %d (%s)", m.Status, m.Error)
		}
		return []runtime.Signal{wire.Retrying(of.position(), wire.Failure{Message: reason, Kind: failureKind(m.Status, m.Error)},
			m.Attempt, m.Of)}
	}
	return nil
}
