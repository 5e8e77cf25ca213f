package audit

import (
	"encoding/json"

	"harness/internal/platform/database"
)

// KindCall is the kind of the rows of requests which may change something, whatever came of them.
const KindCall = "request.answered"

// Call is one such request. It has neither a body nor a header: those may have secrets. No recorded value
// distinguishes equal calls.
type Call struct {
	// Actor and Role are who asked; Actor is "anonymous" of a caller that was not let in.
	Actor, Role string
	// SessionID is the session that it is about, "" for none, TaskID the task of the task API.
	SessionID, TaskID string
	// Protocol is rest, tasks, json-rpc, mcp or link. Route is the method and the pattern of the path, or the method of
	// JSON-RPC.
	Protocol, Route string
	// Params are the parameters of the path, one JSON object; "" for none.
	Params string
	// Outcome is ok, refused (by a rule, or because the request was wrong), failed (here or at a runtime) or aborted. Status
	// is the HTTP status, 0 where there is none; Code is the code of the error, "" for none.
	Outcome string
	Status  int
	Code    string
}

// tally is how often a call came that has no row yet.
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
	// Count is how many equal calls the row is of, with the time of the first of them; left out of one alone.
	Count   int    `json:"count,omitempty"`
	FirstAt int64  `json:"first_at,omitempty"`
	TraceID string `json:"trace_id,omitempty"`
}

// row is what is stored of a call, without its place in the log.
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
		panic("audit: a call has no JSON: " + err.Error()) // a fault of the program
	}
	return Row{SessionID: database.EncodeText(c.SessionID), At: t.lastAt, Actor: database.EncodeText(c.Actor), Role: c.Role,
		Kind: KindCall, Detail: text}
}
