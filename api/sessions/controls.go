package sessions

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var (
	scopeField  = schema.Enum(string(operations.ScopeSession), string(operations.ScopeDefault))
	actorField  = schema.Text{}.Trim().Min(1).Max(operations.MaxActor)
	sourceField = schema.Text{}.Trim().Min(1).Max(operations.MaxSource)

	controlsField = schema.Struct(
		rest.Required("model", schema.Nullable(modelField)), rest.Required("approvalPolicy", approvalPolicyField),
		rest.Required("networkAccess", networkAccessField), rest.Required("filesystemSandbox", filesystemSandboxField),
		rest.Optional("settings", schema.Record(schema.Any())))
	controlsBody = schema.Struct(
		rest.Required("scope", scopeField), rest.Required("controls", controlsField),
		rest.Optional("actor", actorField), rest.Optional("source", sourceField))
	approvalPolicyBody = schema.Struct(rest.Required("approvalPolicy", approvalPolicyField))
)

// controlRoutes read and change the controls of a session's turns.
func (s *controls) controlRoutes() []rest.Route {
	const one = "/api/sessions/:sessionId"
	return []rest.Route{
		{Method: http.MethodGet, Path: one + "/session-controls", Operation: operations.ReadControls, Handle: s.getControls},
		{Method: http.MethodPost, Path: one + "/session-controls", Operation: operations.EditControls, Body: controlsBody,
			Handle: s.setControls},
		{Method: http.MethodPost, Path: one + "/approval-policy", Operation: operations.EditControls,
			Body: approvalPolicyBody, Handle: s.setApprovalPolicy},
	}
}

// controlsView has the controls and the defaults of a session, and whether the client may change the defaults.
type controlsView struct {
	SessionID string           `json:"sessionId"`
	Controls  session.Controls `json:"controls"`
	defaultsView
}

func (s *controls) viewControls(sessionID string, controls, defaults session.Controls) controlsView {
	return controlsView{SessionID: sessionID, Controls: controls, defaultsView: s.viewDefaults(defaults)}
}

func (s *controls) getControls(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	controls, defaults, err := s.editor.Controls(ctx, in.SessionID())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string `json:"status"`
		controlsView
	}{"ok", s.viewControls(in.SessionID(), controls, defaults)})
}

func controlsOf(wish schema.Value) session.Controls {
	next := session.Controls{
		Model: wish.Get("model").TextPointer(), ApprovalPolicy: wish.Get("approvalPolicy").Text(),
		NetworkAccess: wish.Get("networkAccess").Text(), FilesystemSandbox: wish.Get("filesystemSandbox").Text(),
	}
	if settings := wish.Get("settings"); settings.Defined() {
		next.Settings = settingsOf(settings)
	}
	return next
}

func (s *controls) setControls(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	change, err := s.editor.SetControls(ctx, in.SessionID(), scopeOf(in.Body), controlsOf(in.Body.Get("controls")),
		auditOf(in.Body))
	var locked *operations.LockedError
	if errors.As(err, &locked) {
		return rest.Reply{Status: http.StatusLocked, Body: struct {
			Status  string           `json:"status"`
			Scope   operations.Scope `json:"scope"`
			Message string           `json:"message"`
			controlsView
		}{"locked", operations.ScopeDefault, operations.LockReason,
			s.viewControls(in.SessionID(), locked.Controls, locked.Defaults)}}, nil
	}
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status  string           `json:"status"`
		Scope   operations.Scope `json:"scope"`
		Applied session.Controls `json:"applied"`
		Summary string           `json:"summary"`
		controlsView
	}{outcome(change.Changed), change.Scope, change.Applied(), change.Applied().Summary(),
		s.viewControls(in.SessionID(), change.Controls, change.Defaults)})
}

func outcome(changed bool) string {
	if changed {
		return "ok"
	}
	return "unchanged"
}

func scopeOf(v schema.Value) operations.Scope { return operations.Scope(v.Get("scope").Text()) }

// auditOf reads the author of a change.
func auditOf(v schema.Value) operations.Audit {
	return operations.Audit{Actor: v.Get("actor").Text(), Source: v.Get("source").Text()}
}

func (s *controls) setApprovalPolicy(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	policy := in.Body.Get("approvalPolicy").Text()
	if err := s.editor.SetApprovalPolicy(ctx, in.SessionID(), policy); err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status         string `json:"status"`
		SessionID      string `json:"sessionId"`
		ApprovalPolicy string `json:"approvalPolicy"`
	}{"ok", in.SessionID(), policy})
}
