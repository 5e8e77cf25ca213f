package sdk

import "encoding/json"

// ResultKind distinguishes the four kinds of EmitResult.
type ResultKind string

// The kinds of result.
const (
	EnqueueResult ResultKind = "enqueue_result"
	ActionResult  ResultKind = "action_result"
	HandlerResult ResultKind = "handler_result"
	HandlerError  ResultKind = "handler_error"
)

// ActionStatus is the outcome of an action.
type ActionStatus string

// The outcomes of an action.
const (
	Performed       ActionStatus = "performed"
	AlreadyResolved ActionStatus = "already_resolved"
	NotEligible     ActionStatus = "not_eligible"
	Conflict        ActionStatus = "conflict"
	Forbidden       ActionStatus = "forbidden"
	Invalid         ActionStatus = "invalid"
	Failed          ActionStatus = "failed"
)

// Valid reports whether s is one of the seven outcomes.
func (s ActionStatus) Valid() bool {
	switch s {
	case Performed, AlreadyResolved, NotEligible, Conflict, Forbidden, Invalid, Failed:
		return true
	}
	return false
}

// The outcomes of an enqueue.
const (
	Enqueued      = "enqueued"
	AlreadyQueued = "already_queued"
)

// The action types that the core executes.
const (
	ActionTranscriptUpsert = "transcript.upsert"
	ActionApprovalDecide   = "approval.decide"
	ActionTurnSteer        = "turn.steer.create"
	ActionQueueEnqueue     = "queue.enqueue"
)

// Job identifies a queue job.
type Job struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	ProjectID string `json:"projectId"`
	State     string `json:"state"` // queued, running, completed, failed or canceled
}

// EmitResult is one normalized answer of a handler. Kind determines which fields are used.
type EmitResult struct {
	Kind       ResultKind `json:"kind"`
	ModuleName string     `json:"moduleName"`
	// EventType and Error belong to handler_error.
	EventType string `json:"eventType,omitempty"`
	Error     string `json:"error,omitempty"`
	// ActionType, RequestID and IdempotencyKey belong to action_result.
	ActionType string `json:"actionType,omitempty"`
	// Status is enqueued or already_queued (enqueue_result) or an ActionStatus (action_result).
	Status         string `json:"status,omitempty"`
	RequestID      string `json:"requestId,omitempty"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// Job belongs to enqueue_result.
	Job *Job `json:"job,omitempty"`
	// Details is one JSON object, nil for none.
	Details json.RawMessage `json:"details,omitempty"`
}

// EnqueueInput is the input of enqueueJob.
type EnqueueInput struct {
	Type            string          `json:"type"`
	ProjectID       string          `json:"projectId"`
	SourceSessionID *string         `json:"sourceSessionId,omitempty"`
	Payload         json.RawMessage `json:"payload"`
}

// EnqueueOutcome is the result of enqueueJob.
type EnqueueOutcome struct {
	Status string `json:"status"`
	Job    Job    `json:"job"`
}

// ActionRequest asks the core to perform an action; a handler returns it.
type ActionRequest struct {
	Kind           string          `json:"kind"` // action_request
	ActionType     string          `json:"actionType"`
	Payload        json.RawMessage `json:"payload"`
	RequestID      string          `json:"requestId,omitempty"`
	IdempotencyKey string          `json:"idempotencyKey,omitempty"`
}

// NewAction makes an action request with payload as JSON. It omits a payload that cannot be encoded, and the request is
// then refused as invalid.
func NewAction(actionType string, payload any) ActionRequest {
	encoded, err := json.Marshal(payload)
	if err != nil {
		encoded = nil
	}
	return ActionRequest{Kind: kindActionRequest, ActionType: actionType, Payload: encoded}
}
