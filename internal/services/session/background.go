package session

import (
	"fmt"

	"harness/internal/lib/javascript"
)

// EventBackground is the type of the event that says which background work a session has now.
const EventBackground = "session_background_updated"

// BackgroundTask is work of a session that goes on when its turn is over.
type BackgroundTask struct {
	// ID, Kind, Command and CanEnd are as in runtime.BackgroundTask.
	ID, Kind, Command string
	CanEnd            bool
	// TurnID is the turn that began it, "" when that is not known. StartedAt is in ms.
	TurnID    string
	StartedAt int64
}

// MarshalJSON is the task as every door shows it.
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

// Doing is what every door shows as the activity of a session.
type Doing struct {
	Turn       *string          `json:"turn"`
	Background []BackgroundTask `json:"background"`
}

// Doing is the activity as every door shows it.
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

// BackgroundError refuses what cannot be done while background work of a session runs.
type BackgroundError struct {
	SessionID string
	Tasks     []BackgroundTask
	// Wish is what was refused, for example "the model cannot change".
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

// Stopped says what a stop did.
type Stopped struct {
	// TurnID is the turn that was stopped.
	TurnID string
	// Ended is the background work of that turn, which was ended with it; GoesOn is what still runs.
	Ended, GoesOn []BackgroundTask
}
