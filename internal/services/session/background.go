package session

import (
	"fmt"

	"harness/internal/lib/javascript"
)

// EventBackground is the type of the event that lists a session's background tasks.
const EventBackground = "session_background_updated"

// BackgroundTask is work of a session that continues after its turn ends.
type BackgroundTask struct {
	// ID, Kind, Command and CanEnd have the meaning of runtime.BackgroundTask.
	ID, Kind, Command string
	CanEnd            bool
	// TurnID is the turn that started it, "" if unknown. StartedAt is in ms.
	TurnID    string
	StartedAt int64
}

// MarshalJSON encodes the task as every API shows it.
func (t BackgroundTask) MarshalJSON() ([]byte, error) {
	return javascript.MustEncode(struct {
		ID        string `json:"id"`
		Kind      string `json:"kind"`
		Command   string `json:"command"`
		TurnID    string `json:"turnId"`
		StartedAt string `json:"startedAt"`
		CanEnd    bool   `json:"canEnd"`
	}{t.ID, t.Kind, t.Command, t.TurnID, javascript.ISOTime(t.StartedAt), t.CanEnd}), nil
}

// Doing is the activity of a session as every API shows it.
type Doing struct {
	Turn       *string          `json:"turn"`
	Background []BackgroundTask `json:"background"`
}

// Doing returns the activity as every API shows it.
func (a Activity) Doing() Doing {
	doing := Doing{Background: a.Background}
	if a.ActiveTurnID != "" {
		doing.Turn = &a.ActiveTurnID
	}
	if doing.Background == nil {
		doing.Background = []BackgroundTask{}
	}
	return doing
}

// BackgroundError refuses a change that is not possible while background work of a session runs.
type BackgroundError struct {
	SessionID string
	Tasks     []BackgroundTask
	// Wish describes the refused change, for example "the model cannot change".
	Wish string
}

// Error implements error.
func (e *BackgroundError) Error() string {
	task := e.Tasks[0]
	more := ""
	if n := len(e.Tasks) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s while `%s`%s runs in the background of session %s: wait for its end, "+
		"or end it with POST /api/sessions/%s/background/%s/stop", e.Wish, task.Command, more, e.SessionID, e.SessionID, task.ID)
}

// Stopped is the result of a stop.
type Stopped struct {
	// TurnID is the stopped turn.
	TurnID string
	// Ended is the background work that the stop ended with the turn; GoesOn is the work that still runs.
	Ended, GoesOn []BackgroundTask
}
