package contract

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Frame is one websocket message of the server, parsed as far as a comparison needs.
type Frame struct {
	// Type is the envelope's type. Method is the runtime's method, for frames derived from one. Thread is the envelope's
	// threadId or "".
	Type, Method, Thread string
	// Detail is the item's kind or the thread's state in a frame. It distinguishes frames of one method.
	Detail string
	raw    []byte
	delta  string
}

// ParseFrame reads an envelope.
func ParseFrame(raw []byte) (Frame, error) {
	var envelope struct {
		Type     string  `json:"type"`
		ThreadID *string `json:"threadId"`
		Payload  struct {
			Method json.RawMessage `json:"method"`
			Params struct {
				ItemID string          `json:"itemId"`
				Item   json.RawMessage `json:"item"`
				Status json.RawMessage `json:"status"`
			} `json:"params"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return Frame{}, fmt.Errorf("a frame is not an envelope: %w", err)
	}
	f := Frame{Type: envelope.Type, raw: raw}
	if envelope.ThreadID != nil {
		f.Thread = *envelope.ThreadID
	}
	_ = json.Unmarshal(envelope.Payload.Method, &f.Method) // other payloads have no method, or one that is not a string
	for _, part := range []json.RawMessage{envelope.Payload.Params.Item, envelope.Payload.Params.Status} {
		var kind struct{ Type string }
		if json.Unmarshal(part, &kind) == nil {
			f.Detail += kind.Type
		}
	}
	if strings.HasSuffix(f.Method, "elta") {
		f.delta = envelope.Payload.Params.ItemID
	}
	return f, nil
}

// DeltaItem returns the item of a delta, "" for other frames. The test compares only the first delta of an item,
// because the model determines their number.
func (f Frame) DeltaItem() string { return f.delta }

// Dropped reports whether the recordings omit the frame.
func (f Frame) Dropped() bool {
	return strings.Contains(f.Type, "raw_response_item") || f.Method == "rawResponseItem/completed"
}

// Reduced returns the frame without the params that an app_server.* frame shares with the notification after it.
func (f Frame) Reduced() []byte {
	if !strings.HasPrefix(f.Type, "app_server.") {
		return f.raw
	}
	value, err := Decode(f.raw)
	if err != nil {
		return f.raw
	}
	if payload, has := value.Member("payload"); has {
		payload.Remove("params")
	}
	return value.Encode()
}

// ignoredTypes are frames that are not compared, each with the reason.
var ignoredTypes = []struct{ match, reason string }{
	{"app_server.account.rate_limits.updated",
		"sent by codex at times of its own, and for every thread's model answer, the workers' too"},
	{"account_rate_limits_updated", "as above"},
	{"account/rateLimits/updated", "as above"},
	{"app_server.deprecation_notice",
		"codex's answer to reading whole histories, which no read does here; listed in Beyond"},
	{"deprecationNotice", "as above"},
	{"app_server.warning", "codex's own notes about its configuration"},
	{"warning", "as above"},
	{"app_server.item.command_execution.output_delta", "what a command prints, and whether it prints, is the machine's"},
	{"item/commandExecution/outputDelta", "as above"},
	{"app_server.config_warning", "said by codex at its start, which a client may be too early or too late for"},
	{"configWarning", "as above"},
	{"app_server.remote_control.status.changed", "as above"},
	{"remoteControl/status/changed", "as above"},
	{"app_server.thread.token_usage.updated", "the numbers and moments are the model's"},
	{"thread_token_usage_updated", "as above"},
	{"thread/tokenUsage/updated", "as above"},
	{"orchestrator_job_", "the supervisor's jobs run at their own pace; the topic jobs compares their records"},
	{"suggested_request_updated", "written by a job, see above"},
	{"app_server.thread.name.updated", "the supervisor renames new chats at its own pace"},
	{"thread/name/updated", "as above"},
	{"app_server.thread.settings.updated",
		"sent by codex when a turn's options differ from the last one's, which the supervisor's turns change"},
	{"thread/settings/updated", "as above"},
	{"app_server.thread.read_state.changed", "moves with every read of the thread"},
	{"thread/readState/changed", "as above"},
}

// Ignored reports whether a frame is excluded from the comparison, see ignoredTypes.
func (f Frame) Ignored() bool {
	if f.Dropped() {
		return true
	}
	for _, one := range ignoredTypes {
		if strings.HasPrefix(f.Type, one.match) || f.Method == one.match {
			return true
		}
	}
	return false
}

// key identifies a frame, for pairing the n-th recorded with the n-th replayed one.
func (f Frame) key() string { return strings.TrimSpace(f.Type + " " + f.Method + " " + f.Detail) }
