package tasks

// operationTurn is what a task asks of its runtime: to take its messages and work on them until it is over.
const operationTurn = "turn"

// runtimeRequest is the payload of RuntimeStarted. ID is that of the task: it asks once.
type runtimeRequest struct {
	ID        string `json:"request_id"`
	Operation string `json:"operation"`
}

// runtimeAnswer is the payload of RuntimeCompleted. IsError says that the task failed, DurationMS how long the runtime
// had it (ms).
type runtimeAnswer struct {
	runtimeRequest
	IsError    bool  `json:"is_error"`
	DurationMS int64 `json:"duration_ms"`
}
