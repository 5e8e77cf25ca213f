package audit

import (
	"encoding/json"

	"harness/internal/platform/database"
)

// KindCall is the kind of rows for requests that may change something, whatever their outcome.
const KindCall = "request.answered"

// Call describes such a request. It has neither a body nor a header: those may contain secrets. No field, such as a
// time, distinguishes calls that are otherwise equal.
type Call struct {
	// Actor and Role identify the caller; Actor is "anonymous" for a caller without access.
	Actor, Role string
	// SessionID is the affected session, "" for none; TaskID is the task of the task API.
	SessionID, TaskID string
	// Protocol is rest, tasks, json-rpc, mcp or link. Route is the method and the pattern of the path, or the method of
	// JSON-RPC.
	Protocol, Route string
	// Params are the parameters of the path, one JSON object; "" for none.
	Params string
	// Outcome is ok, refused (by a rule, or because the request was invalid), failed (here or at a runtime) or aborted.
	// Status is the HTTP status, 0 for none; Code is the code of the error, "" for none.
	Outcome string
	Status  int
	Code    string
}

// tally counts the occurrences of a call that have no row yet.
type tally struct {
	count           int
	firstAt, lastAt int64 // ms
	traceID         string
	due             int64 // no row before this time, ms
}

// callDetail is the detail of a row.
type callDetail struct {
	Protocol string          `json:"protocol"`
	Route    string          `json:"route"`
	Params   json.RawMessage `json:"params,omitempty"`
	TaskID   string          `json:"task_id,omitempty"`
	Status   int             `json:"status,omitempty"`
	Code     string          `json:"code,omitempty"`
	Outcome  string          `json:"outcome"`
	// Count is the number of equal calls in the row, FirstAt the time of the first one; both are omitted for a single
	// call.
	Count   int    `json:"count,omitempty"`
	FirstAt int64  `json:"first_at,omitempty"`
	TraceID string `json:"trace_id,omitempty"`
}

// row returns a call as stored, without its position in the log.
func (c Call) row(t tally) Row {
	detail := callDetail{Protocol: c.Protocol, Route: c.Route, TaskID: c.TaskID, Status: c.Status, Code: c.Code,
		Outcome: c.Outcome, TraceID: t.traceID}
	if c.Params != "" {
		detail.Params = json.RawMessage(c.Params)
	}
	if t.count > 1 {
		detail.Count, detail.FirstAt = t.count, t.firstAt
	}
	text, err := json.Marshal(detail)
	if err != nil {
		panic("audit: a call has no JSON: " + err.Error()) // a bug in the program
	}
	return Row{SessionID: database.EncodeText(c.SessionID), At: t.lastAt, Actor: database.EncodeText(c.Actor), Role: c.Role,
		Kind: KindCall, Detail: text}
}
