package queue

import (
	"encoding/json"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
)

// eventCancelRequested wakes the node that runs a job. Its name contains a dot, so clients get no frame for it.
const eventCancelRequested = "queue.cancel_requested"

// eventName returns the name of the event that clients get when a job enters a state.
func eventName(state State) string {
	switch state {
	case Running:
		return "orchestrator_job_started"
	default:
		return "orchestrator_job_" + string(state)
	}
}

const eventProgress = "orchestrator_job_progress"

// jobEvent returns an event about a job, in the session from which the job was enqueued.
func jobEvent(name string, job Job, at int64, progress json.RawMessage) (journal.Event, error) {
	payload := struct {
		JobID           string          `json:"jobId"`
		ProjectID       string          `json:"projectId"`
		JobType         string          `json:"jobType"`
		State           State           `json:"state"`
		SourceSessionID *string         `json:"sourceSessionId,omitempty"`
		Result          json.RawMessage `json:"result,omitempty"`
		Error           *string         `json:"error,omitempty"`
		Progress        json.RawMessage `json:"progress,omitempty"`
	}{job.ID, job.ProjectID, job.Type, job.State, job.SourceSessionID, nil, nil, progress}
	if job.State.Final() {
		payload.Result, payload.Error = job.Result, job.Error
	}
	encoded, err := javascript.Encode(payload)
	if err != nil {
		return journal.Event{}, err
	}
	event := journal.Event{Type: name, Time: at, Source: "queue", Payload: encoded}
	if job.SourceSessionID != nil {
		event.SessionID = *job.SourceSessionID
	}
	return event, nil
}
