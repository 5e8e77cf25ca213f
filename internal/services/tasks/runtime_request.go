package tasks

// operationTurn is a task's request to its runtime: accept the messages and work on them to the end.
const operationTurn = "turn"

// runtimeRequest is the payload of RuntimeStarted. ID is the task's: it makes one request.
type runtimeRequest struct {
	ID        string `json:"request_id"`
	Operation string `json:"operation"`
}

// runtimeAnswer is the payload of RuntimeCompleted. IsError says that the task failed, DurationMS how long the runtime
// took (ms).
type runtimeAnswer struct {
	runtimeRequest
	IsError    bool  `json:"is_error"`
	DurationMS int64 `json:"duration_ms"`
}
