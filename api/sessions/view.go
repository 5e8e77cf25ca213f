package sessions

import (
	"encoding/json"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/services/session"
)

// sessionView is codex-manager's SessionSummary. Its times are in whole seconds.
type sessionView struct {
	SessionID       string           `json:"sessionId"`
	Title           string           `json:"title"`
	Materialized    bool             `json:"materialized"`
	ModelProvider   string           `json:"modelProvider"`
	ApprovalPolicy  string           `json:"approvalPolicy"`
	SessionControls session.Controls `json:"sessionControls"`
	CreatedAt       int64            `json:"createdAt"`
	UpdatedAt       int64            `json:"updatedAt"`
	Cwd             string           `json:"cwd"`
	Source          string           `json:"source"`
	ProjectID       *string          `json:"projectId"`
	// These members report the current activity; codex-manager has no such members.
	State        session.State  `json:"state"`
	Activity     session.Doing  `json:"activity"`
	ActiveTurnID *string        `json:"activeTurnId"`
	PendingCount int64          `json:"pendingCount"`
	LastError    *turnErrorView `json:"lastError"`
	// RetryableTurnID is the last turn if it can be retried.
	RetryableTurnID string `json:"retryableTurnId,omitempty"`
	// Runtime is the name of its runtime; codex-manager has only codex.
	Runtime string `json:"runtime"`
	// Present with ?view=console.
	*figuresView
}

// figuresView is the additional data of a session in lists, without its activity.
type figuresView struct {
	// TitleSource is who gave the title: auto (the first message), user or agent.
	TitleSource session.TitleSource `json:"titleSource"`
	// ArchivedAt and ArchivedBy are those of an archived session; either may be unknown.
	ArchivedAt *int64          `json:"archivedAt,omitempty"` // seconds
	ArchivedBy *session.Author `json:"archivedBy,omitempty"`
	Plan       json.RawMessage `json:"plan"`
	Usage      json.RawMessage `json:"usage"`
	// Line is what happens now, null for nothing.
	Line        *session.Line `json:"line"`
	Branch      string        `json:"branch,omitempty"`
	LastEntryAt *int64        `json:"lastEntryAt"` // seconds
	// ReadTo is the last entry that the caller has read.
	ReadTo *string `json:"readTo"`
	Unread bool    `json:"unread"`
}

var viewField = rest.Optional("view", schema.Enum("console"))

// figures reports whether a query requests the members of figuresView.
func figures(in *rest.Input) bool { return in.Query.Get("view").Text() == "console" }

// turnErrorView describes why a session's last turn failed.
type turnErrorView struct {
	TurnID  string `json:"turnId"`
	Message string `json:"message"`
}

func viewSession(s session.Session) sessionView {
	controls := s.Controls
	if controls.Settings == nil {
		controls.Settings = map[string]json.RawMessage{}
	}
	view := sessionView{
		SessionID: s.ID, Title: s.Title, Materialized: s.Materialized, ModelProvider: s.ModelProvider,
		ApprovalPolicy: controls.ApprovalPolicy, SessionControls: controls,
		CreatedAt: s.CreatedAt / 1000, UpdatedAt: s.UpdatedAt / 1000, Cwd: s.Cwd, Source: s.Source, ProjectID: s.ProjectID,
		State: s.Activity.State, Activity: s.Activity.Doing(),
		ActiveTurnID: rest.TextOrNull(s.Activity.ActiveTurnID), PendingCount: s.Activity.PendingCount,
		Runtime: s.Runtime, RetryableTurnID: s.Activity.RetryableTurnID,
	}
	if view.State == "" {
		view.State = session.StateIdle
	}
	if failed := s.Activity.LastError; failed != nil {
		view.LastError = &turnErrorView{TurnID: failed.TurnID, Message: failed.Message}
	}
	if shown := s.Figures; shown != nil {
		view.figuresView = &figuresView{Plan: shown.Plan, Usage: shown.Usage, ReadTo: rest.TextOrNull(shown.ReadTo), Unread: shown.Unread}
		view.Title, view.figuresView.TitleSource = s.Shown()
		view.Line, view.Branch = shown.Line, shown.Branch
		if by := s.ArchivedBy; by.At > 0 {
			at := by.At / 1000
			view.ArchivedAt = &at
		}
		if by := s.ArchivedBy; by.Actor != "" {
			view.ArchivedBy = &session.Author{Actor: by.Actor, Name: by.Name}
		}
		if shown.LastEntryAt > 0 {
			at := shown.LastEntryAt / 1000
			view.LastEntryAt = &at
		}
	}
	return view
}

// sessionBody is a session with the runtime's own description of it. Only some responses have Status.
type sessionBody struct {
	Status  string          `json:"status,omitempty"`
	Session sessionView     `json:"session"`
	Thread  json.RawMessage `json:"thread"`
}

func thread(s session.Session) json.RawMessage {
	if len(s.Thread) == 0 {
		return json.RawMessage("null")
	}
	return s.Thread
}
