package tasks

// operationTurn is a task's request to its runtime: accept the messages and work on them to the end.
const operationTurn = "turn"

// runtimeRequest is the payload of RuntimeStarted. ID is the task's, because a task makes one request.
type runtimeRequest struct {
	ID        string `json:"request_id"`
	Operation string `json:"operation"`
}

// runtimeAnswer is the payload of RuntimeCompleted. IsError means that the task failed; DurationMS is the runtime's
// duration (ms).
type runtimeAnswer struct {
	runtimeRequest
	IsError    bool  `json:"is_error"`
	DurationMS int64 `json:"duration_ms"`
}
