package tasks

import "encoding/json"

// SchemaVersion is the version of events, ContractVersion that of their meaning.
const (
	SchemaVersion   = 1
	ContractVersion = "1.0"
)

// Event is one event of a session, in the vocabulary of the task API.
type Event struct {
	SchemaVersion int `json:"schema_version"`
	// Seq counts the events of the session, from 1.
	Seq int64 `json:"seq"`
	// Time is when it happened, as ISO 8601 in UTC.
	Time    string          `json:"time"`
	Type    string          `json:"type"`
	Trace   Trace           `json:"trace"`
	Runtime RuntimeRef      `json:"runtime"`
	Payload json.RawMessage `json:"payload"`
}

// Trace identifies the context of an event.
type Trace struct {
	SessionID string `json:"session_id"`
	TaskID    string `json:"task_id,omitempty"`
	TurnID    string `json:"turn_id,omitempty"`
	// TraceID and SpanID identify the trace of the task's request (W3C, hex).
	TraceID string `json:"trace_id,omitempty"`
	SpanID  string `json:"span_id,omitempty"`
	// Origin identifies the caller.
	Origin
}

// RuntimeRef is the runtime of an event's session, its model if known, and its own id of the conversation.
type RuntimeRef struct {
	Name             string `json:"name"`
	Model            string `json:"model,omitempty"`
	RuntimeSessionID string `json:"runtime_session_id,omitempty"`
}

// Types of events.
const (
	SessionCreated = "session.created"

	TaskStarted   = "task.started"
	TaskCompleted = "task.completed"
	TaskFailed    = "task.failed"
	TaskStopped   = "task.stopped"

	// RuntimeStarted and RuntimeCompleted bracket a task's request to its runtime (Options.ReportRequests).
	RuntimeStarted   = "runtime.request.started"
	RuntimeCompleted = "runtime.request.completed"

	ModelInput      = "model.input"
	OutputDelta     = "model.output.delta"
	OutputCompleted = "model.output.completed"
	UsageReported   = "usage.reported"

	CallRequested = "tool.call.requested"
	CallEvaluated = "tool.call.policy_evaluated"
	CallApproved  = "tool.call.approved"
	CallDenied    = "tool.call.denied"
	CallStarted   = "tool.call.started"
	CallOutput    = "tool.output.delta"
	CallSaid      = "tool.output.completed"
	CallCompleted = "tool.call.completed"
)

// Types of the journal events that only this package reads. Clients of the stream do not get types with dots.
const (
	recordStarted = "task.started"
	recordBound   = "task.bound"
	recordEnded   = "task.ended"
	recordAsked   = "task.asked" // a decider of a call, or a stop of a task
)

// sessionDeleted is the type of the journal event of a deleted session.
const sessionDeleted = "session_deleted"

// terminal returns the type of the event that ends a task.
func terminal(status Status) string {
	switch status {
	case Completed:
		return TaskCompleted
	case Stopped:
		return TaskStopped
	case Queued, starting, Running, Failed:
	}
	return TaskFailed
}
