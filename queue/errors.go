package queue

import "errors"

// Codes of an Error, as clients receive them.
const (
	CodeFull           = "queue_full"
	CodeConflict       = "job_conflict"
	CodeUnknownType    = "unknown_job_type"
	CodeInvalidPayload = "invalid_payload"
)

// Error reports that the queue refused to enqueue a job.
type Error struct{ Code, Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

// ErrNotFound reports that no job has that id, or that it was pruned.
var ErrNotFound = errors.New("job not found")

// TerminalError reports that a job cannot be canceled because it has ended.
type TerminalError struct{ Job Job }

// Error implements error.
func (e *TerminalError) Error() string {
	return "job " + e.Job.ID + " is already " + string(e.Job.State)
}

// Causes of the cancellation of a handler's context (context.Cause).
var (
	// ErrTimeout: the attempt exceeded its time limit.
	ErrTimeout = errors.New("orchestrator job timeout")
	// ErrCanceled: the job was canceled.
	ErrCanceled = errors.New("orchestrator job canceled")
	// ErrLost: another node took over the job; the queue drops the handler's result.
	ErrLost = errors.New("orchestrator job lost its lease")
	// ErrDetached: this node is stopping and leaves the job running; the node's next process resumes it.
	ErrDetached = errors.New("orchestrator job is left to the next process")
	// ErrShutdown: this node is stopping.
	ErrShutdown = errors.New("orchestrator queue is shutting down")
)

// Error texts that are stored with a job.
const (
	errorCancelRequested  = "cancel_requested"
	errorInterruptTimeout = "interrupt_timeout"
	errorShutdown         = "shutdown"
	errorShutdownTimeout  = "shutdown_timeout"
	errorRecovered        = "recovered_from_running_state"
	errorMaxAttempts      = "recovery_max_attempts_exceeded"
	errorRecoveryPayload  = "recovery_invalid_payload:"
	errorInvalidPayload   = "invalid_payload: "
)

// errFenced: the attempt no longer owns the job; the queue drops its outcome.
var errFenced = errors.New("the attempt no longer owns the job")
