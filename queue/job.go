// Package queue is the durable job queue: the contract of a job, the decisions about jobs, and the runner that executes
// them.
//
// It owns the tables jobs and job_lanes, the order in which jobs run, and the `orchestrator_job_*` events. It must never
// know what a job does (see Definition and queue/jobs), HTTP, or a runtime.
//
// Every decision is a journal.Unit. Units of all processes run one after the other under the lock of the journal's head
// row, on both engines. That lock is the queue's only decision lock; there is no advisory lock. State rows, transcript
// rows and events of one change are therefore one transaction. Partial unique indexes also enforce the two invariants:
// single-flight, and one running job per project.
package queue

import (
	"encoding/json"

	"harness/internal/lib/javascript"
)

// State is the state of a job.
type State string

// The states of a job. The last three are final.
const (
	Queued    State = "queued"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
	Canceled  State = "canceled"
)

// Final reports whether a job in this state never changes again.
func (s State) Final() bool { return s == Completed || s == Failed || s == Canceled }

// Priority determines which job starts first.
type Priority string

// The priorities.
const (
	Interactive Priority = "interactive"
	Background  Priority = "background"
)

// Job is one stored job. Times are in ms, nil for never; absent texts are nil.
type Job struct {
	ID              string
	Type            string
	Version         int
	ProjectID       string
	SourceSessionID *string
	Priority        Priority
	State           State
	DedupeKey       *string
	Payload         json.RawMessage
	// Result is nil until the job is completed.
	Result            json.RawMessage
	Error             *string
	Attempts          int
	MaxAttempts       int
	CreatedAt         int64
	StartedAt         *int64
	CompletedAt       *int64
	CancelRequestedAt *int64
	NextAttemptAt     *int64
	LastAttemptAt     *int64
	// ThreadID and TurnID identify the thread and turn of a job's last work. On the wire they are the runningContext of
	// a running job.
	ThreadID, TurnID *string

	dedupeMode   DedupeMode
	cancelReason string
	nodeID       string
	owner        string
	leaseUntil   int64
	reconcileAt  *int64
	checkpoint   json.RawMessage // nil for none
}

// MarshalJSON encodes the job for the wire: members and their order match codex-manager (golden recording "jobs").
func (j Job) MarshalJSON() ([]byte, error) {
	type runningContext struct {
		ThreadID *string `json:"threadId"`
		TurnID   *string `json:"turnId"`
	}
	result := j.Result
	if result == nil {
		result = json.RawMessage("null")
	}
	var where runningContext
	if j.State == Running {
		where = runningContext{j.ThreadID, j.TurnID}
	}
	return javascript.Encode(struct {
		ID                string          `json:"id"`
		Type              string          `json:"type"`
		Version           int             `json:"version"`
		ProjectID         string          `json:"projectId"`
		SourceSessionID   *string         `json:"sourceSessionId"`
		Priority          Priority        `json:"priority"`
		State             State           `json:"state"`
		DedupeKey         *string         `json:"dedupeKey"`
		Payload           json.RawMessage `json:"payload"`
		Result            json.RawMessage `json:"result"`
		Error             *string         `json:"error"`
		Attempts          int             `json:"attempts"`
		MaxAttempts       int             `json:"maxAttempts"`
		CreatedAt         *string         `json:"createdAt"`
		StartedAt         *string         `json:"startedAt"`
		CompletedAt       *string         `json:"completedAt"`
		CancelRequestedAt *string         `json:"cancelRequestedAt"`
		NextAttemptAt     *string         `json:"nextAttemptAt"`
		LastAttemptAt     *string         `json:"lastAttemptAt"`
		RunningContext    runningContext  `json:"runningContext"`
	}{j.ID, j.Type, j.Version, j.ProjectID, j.SourceSessionID, j.Priority, j.State, j.DedupeKey, j.Payload, result,
		j.Error, j.Attempts, j.MaxAttempts, isoTime(&j.CreatedAt), isoTime(j.StartedAt), isoTime(j.CompletedAt),
		isoTime(j.CancelRequestedAt), isoTime(j.NextAttemptAt), isoTime(j.LastAttemptAt), where})
}

// isoTime formats a time in ms for the wire, nil for none.
func isoTime(ms *int64) *string {
	if ms == nil {
		return nil
	}
	text := javascript.ISOTime(*ms)
	return &text
}

// Counts are the health figures of the jobs in a store.
type Counts struct {
	Queued, Running, Completed, Failed, Canceled int
	// Projects is the number of projects that have jobs.
	Projects int
}
