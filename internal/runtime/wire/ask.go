package wire

import (
	"encoding/json"

	"harness/internal/runtime"
)

// Asking has what every request of a turn carries: its ids and its time in ms. The item's id is "" without an item.
type Asking struct {
	Place
	ItemID string `json:"itemId"`
	At     int64  `json:"startedAtMs"`
}

// ApproveCommand asks whether a command may run; reason is its justification, nil for none.
func ApproveCommand(id json.RawMessage, in Asking, command, cwd string, reason *string) runtime.Signal {
	return Request(MethodApproveCommand, id, struct {
		Asking
		Command string  `json:"command"`
		Cwd     string  `json:"cwd"`
		Reason  *string `json:"reason"`
	}{in, command, cwd, reason})
}

// ApproveFileChange asks whether files may be changed.
func ApproveFileChange(id json.RawMessage, in Asking, changes []FileEdit, reason *string) runtime.Signal {
	return Request(MethodApproveFileChange, id, struct {
		Asking
		Reason  *string    `json:"reason"`
		Changes []FileEdit `json:"changes"`
	}{in, reason, append([]FileEdit{}, changes...)})
}

// ApproveTool asks whether any other tool may run, with its arguments (JSON).
func ApproveTool(id json.RawMessage, in Asking, tool string, arguments json.RawMessage, reason *string) runtime.Signal {
	return Request(MethodApproveTool, id, struct {
		Asking
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Reason    *string         `json:"reason"`
	}{in, tool, arguments, reason})
}

// ApproveOwnTool is ApproveTool for a tool of this server. A user can only allow it once; no other decision exists.
func ApproveOwnTool(id json.RawMessage, in Asking, tool string, arguments json.RawMessage,
	reason *string) runtime.Signal {
	return Request(MethodApproveTool, id, struct {
		Asking
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Reason    *string         `json:"reason"`
		Decisions []string        `json:"availableDecisions"`
	}{in, tool, arguments, reason, []string{"accept", "decline", "cancel"}})
}

// Question is a question to the user. IsOther allows an answer beyond the options, IsSecret hides the input, Multiple
// allows several answers, Optional allows none.
type Question struct {
	ID       string   `json:"id"`
	Header   string   `json:"header"`
	Question string   `json:"question"`
	Options  []Option `json:"options"`
	IsOther  bool     `json:"isOther"`
	IsSecret bool     `json:"isSecret"`
	Multiple bool     `json:"multiple,omitempty"`
	Optional bool     `json:"optional,omitempty"`
}

// Option is an answer to choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// AskUser asks the user questions.
func AskUser(id json.RawMessage, in Asking, questions ...Question) runtime.Signal {
	return Request(MethodAskUser, id, struct {
		Asking
		Questions []Question `json:"questions"`
		Blocking  bool       `json:"isBlocking"`
	}{in, append([]Question{}, questions...), true})
}

// CallTool asks a client to run one of its tools. The item gets the id of the call.
func CallTool(id json.RawMessage, in Place, callID, tool string, arguments json.RawMessage) runtime.Signal {
	return Request(MethodCallTool, id, struct {
		Place
		CallID    string          `json:"callId"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}{in, callID, tool, arguments})
}
