package api

import (
	"context"
	"net/http"

	"harness/api/schema"
	"harness/session"
)

var (
	scopeField  = schema.Enum(scopeSession, scopeDefault)
	actorField  = schema.Text{}.Trim().Min(1).Max(120)
	sourceField = schema.Text{}.Trim().Min(1).Max(64)

	controlsBody = schema.Struct(
		required("scope", scopeField),
		required("controls", schema.Struct(
			required("model", schema.Nullable(modelField)), required("approvalPolicy", approvalPolicyField), required("networkAccess", networkAccessField),
			required("filesystemSandbox", filesystemSandboxField), optional("settings", schema.Record(schema.Any())))),
		optional("actor", actorField), optional("source", sourceField))
	approvalPolicyBody = schema.Struct(required("approvalPolicy", approvalPolicyField))
)

// controlRoutes are about what a session's turns run with.
func (s *server) controlRoutes() []route {
	const one = "/api/sessions/:sessionId"
	return []route{
		{method: http.MethodGet, path: one + "/session-controls", guards: userSession, handle: s.getControls},
		{method: http.MethodPost, path: one + "/session-controls", guards: userSession, body: controlsBody, handle: s.setControls},
		{method: http.MethodPost, path: one + "/approval-policy", guards: userSession, body: approvalPolicyBody, handle: s.setApprovalPolicy},
	}
}

// controlsView is both controls of a session, and whether the defaults are the client's to change.
type controlsView struct {
	SessionID  string           `json:"sessionId"`
	Controls   session.Controls `json:"controls"`
	Defaults   session.Controls `json:"defaults"`
	Editable   bool             `json:"defaultsEditable"`
	LockReason *string          `json:"defaultLockReason"`
}

func (s *server) viewControls(sessionID string, controls, defaults session.Controls) controlsView {
	view := controlsView{SessionID: sessionID, Controls: withSettings(controls), Defaults: withSettings(defaults), Editable: !s.DefaultsLocked}
	if s.DefaultsLocked {
		reason := lockReason
		view.LockReason = &reason
	}
	return view
}

func (s *server) getControls(ctx context.Context, in *input) (reply, error) {
	controls, defaults, err := s.Controls.Controls(ctx, in.sessionID())
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status string `json:"status"`
		controlsView
	}{"ok", s.viewControls(in.sessionID(), controls, defaults)})
}

func (s *server) setControls(ctx context.Context, in *input) (reply, error) {
	scope := in.body.Get("scope").Text()
	if scope == scopeDefault && s.DefaultsLocked {
		return reply{}, s.controlsLocked(ctx, in)
	}
	wish := in.body.Get("controls")
	change, err := s.Controls.EditControls(ctx, in.sessionID(), ControlEdit{
		Defaults: scope == scopeDefault, Audit: auditOf(in.body, "ui"),
		Edit: func(current session.Controls) session.Controls {
			next := session.Controls{
				Model: modelOf(wish), ApprovalPolicy: wish.Get("approvalPolicy").Text(), NetworkAccess: wish.Get("networkAccess").Text(),
				FilesystemSandbox: wish.Get("filesystemSandbox").Text(), Settings: current.Settings,
			}
			if settings := wish.Get("settings"); settings.Defined() {
				next.Settings = settingsOf(settings)
			}
			return next
		},
	})
	if err != nil {
		return reply{}, err
	}
	applied := change.Controls
	if scope == scopeDefault {
		applied = change.Defaults
	}
	return ok(struct {
		Status  string           `json:"status"`
		Scope   string           `json:"scope"`
		Applied session.Controls `json:"applied"`
		Summary string           `json:"summary"`
		controlsView
	}{outcome(change.Changed), scope, withSettings(applied), applied.Summary(), s.viewControls(in.sessionID(), change.Controls, change.Defaults)})
}

func outcome(changed bool) string {
	if changed {
		return "ok"
	}
	return "unchanged"
}

// auditOf reads who makes a change; source is what a silent client is taken for.
func auditOf(v schema.Value, source string) *ControlAudit {
	audit := &ControlAudit{Actor: "user", Source: source}
	if actor := v.Get("actor").Text(); actor != "" {
		audit.Actor = actor
	}
	if source := v.Get("source").Text(); source != "" {
		audit.Source = source
	}
	return audit
}

func (s *server) controlsLocked(ctx context.Context, in *input) error {
	controls, defaults, err := s.Controls.Controls(ctx, in.sessionID())
	if err != nil {
		return err
	}
	return &lockedError{body: struct {
		Status  string `json:"status"`
		Scope   string `json:"scope"`
		Message string `json:"message"`
		controlsView
	}{"locked", scopeDefault, lockReason, s.viewControls(in.sessionID(), controls, defaults)}}
}

func (s *server) setApprovalPolicy(ctx context.Context, in *input) (reply, error) {
	policy := in.body.Get("approvalPolicy").Text()
	_, err := s.Controls.EditControls(ctx, in.sessionID(), ControlEdit{Edit: func(current session.Controls) session.Controls {
		current.ApprovalPolicy = policy
		return current
	}})
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status         string `json:"status"`
		SessionID      string `json:"sessionId"`
		ApprovalPolicy string `json:"approvalPolicy"`
	}{"ok", in.sessionID(), policy})
}
