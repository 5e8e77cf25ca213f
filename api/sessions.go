package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"harness/api/schema"
	"harness/session"
)

// runtimeField names a runtime of this server.
var runtimeField = schema.Text{}.Trim().Min(1).Max(100)

// maxSearch is the longest text to look for.
const maxSearch = 200

var (
	listSessionsQuery = schema.Struct(
		optional("archived", flagField), optional("cursor", cursorField), optional("limit", limitField), optional("includeSystemOwned", flagField),
		optional("q", schema.Text{}.Trim().Max(maxSearch)), optional("runtime", runtimeField))
	createSessionBody = schema.Optional(schema.Struct(
		optional("cwd", schema.Text{}.Min(1)), optional("model", modelField), optional("approvalPolicy", approvalPolicyField),
		optional("networkAccess", networkAccessField), optional("filesystemSandbox", filesystemSandboxField), optional("dynamicTools", dynamicToolsField),
		optional("runtime", runtimeField)))
	renameSessionBody = schema.Struct(required("title", schema.Text{}.Trim().Min(1).Max(200)))
	resumeSessionBody = schema.Optional(schema.Struct(optional("dynamicTools", dynamicToolsField)))
	assignProjectBody = schema.Struct(required("projectId", schema.Nullable(schema.Text{}.Trim().Min(1).Max(200))))
)

func (s *server) sessionRoutes() []route {
	const one = "/api/sessions/:sessionId"
	return []route{
		{method: http.MethodGet, path: "/api/sessions", query: listSessionsQuery, handle: s.listSessions},
		{method: http.MethodPost, path: "/api/sessions", body: createSessionBody, handle: s.createSession},
		{method: http.MethodGet, path: one, agent: agentSession, guards: anySession, query: readSessionQuery, handle: s.readSession},
		// Its guards are checked by the handler, which does not wait for them as others do.
		{method: http.MethodDelete, path: one, handle: s.deleteSession},
		{method: http.MethodPost, path: one + "/rename", agent: agentSession, guards: ownedSession, body: renameSessionBody, handle: s.renameSession},
		{method: http.MethodPost, path: one + "/archive", guards: ownedSession, handle: s.archiveSession},
		{method: http.MethodPost, path: one + "/unarchive", guards: ownedSession, handle: s.unarchiveSession},
		{method: http.MethodPost, path: one + "/resume", guards: ownedSession, bodyFirst: true, body: resumeSessionBody, handle: s.resumeSession},
		// The project is looked for before the session, so the session's own 404 is left to the handler.
		{method: http.MethodPost, path: one + "/project", guards: refuseDeleted | refuseSystem, body: assignProjectBody, handle: s.assignProject},
	}
}

func (s *server) listSessions(ctx context.Context, in *input) (reply, error) {
	query := session.ListQuery{
		Archived: in.query.Get("archived").Text() == "true", Cursor: in.query.Get("cursor").Text(), Limit: 100,
		IncludeSystemOwned: in.query.Get("includeSystemOwned").Text() == "true", Text: in.query.Get("q").Text(), Runtime: in.query.Get("runtime").Text(),
	}
	if limit := in.query.Get("limit"); limit.Defined() {
		query.Limit = int(limit.Int())
	}
	page, err := s.Sessions.List(ctx, query)
	if err != nil {
		return reply{}, err
	}
	body := struct {
		Data       []sessionView `json:"data"`
		NextCursor *string       `json:"nextCursor"`
		Archived   bool          `json:"archived"`
		Pos        int64         `json:"pos"`
	}{Data: make([]sessionView, len(page.Sessions)), Archived: query.Archived, Pos: page.Pos}
	for i, one := range page.Sessions {
		body.Data[i] = viewSession(one)
	}
	if page.NextCursor != "" {
		body.NextCursor = &page.NextCursor
	}
	return ok(body)
}

func (s *server) createSession(ctx context.Context, in *input) (reply, error) {
	created, err := s.Sessions.Create(ctx, session.Create{
		Cwd: strings.TrimSpace(in.body.Get("cwd").Text()), Model: modelOf(in.body), ApprovalPolicy: in.body.Get("approvalPolicy").TextPointer(),
		NetworkAccess: in.body.Get("networkAccess").TextPointer(), FilesystemSandbox: in.body.Get("filesystemSandbox").TextPointer(),
		DynamicTools: in.body.Get("dynamicTools").JSON(), Runtime: in.body.Get("runtime").Text(),
	})
	if err != nil {
		return reply{}, err
	}
	noteSession(ctx, created.ID)
	return ok(sessionBody{Session: viewSession(created), Thread: thread(created)})
}

// modelOf reads a model name; a blank one is no model.
func modelOf(body schema.Value) *string {
	if model := strings.TrimSpace(body.Get("model").Text()); model != "" {
		return &model
	}
	return nil
}

// deleteGuardPatience is how long a deletion waits for a runtime to say whether it knows a chat that is not stored here. With what the
// deletion itself may wait, that is less than 10 s.
const deleteGuardPatience = 3 * time.Second

func (s *server) deleteSession(ctx context.Context, in *input) (reply, error) {
	asking, cancel := context.WithTimeout(ctx, deleteGuardPatience)
	defer cancel()
	if err := s.checkGuards(asking, ownedSession, in); err != nil {
		return reply{}, err
	}
	deleted, err := s.Sessions.Delete(ctx, in.sessionID())
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status           string `json:"status"`
		SessionID        string `json:"sessionId"`
		Title            string `json:"title"`
		DeletedFileCount int    `json:"deletedFileCount"`
	}{"ok", deleted.SessionID, deleted.Title, deleted.DeletedFileCount})
}

func (s *server) renameSession(ctx context.Context, in *input) (reply, error) {
	renamed, err := s.Sessions.Rename(ctx, in.sessionID(), in.body.Get("title").Text())
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status  string      `json:"status"`
		Session sessionView `json:"session"`
	}{"ok", viewSession(renamed)})
}

func (s *server) archiveSession(ctx context.Context, in *input) (reply, error) {
	if in.session.Archived {
		return reply{}, session.ErrNotMaterialized // what codex-manager calls it, too
	}
	archived, err := s.Sessions.Archive(ctx, in.sessionID())
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
	}{"ok", archived.ID})
}

func (s *server) unarchiveSession(ctx context.Context, in *input) (reply, error) {
	restored, err := s.Sessions.Unarchive(ctx, in.sessionID())
	if err != nil {
		return reply{}, err
	}
	return ok(sessionBody{Status: "ok", Session: viewSession(restored), Thread: thread(restored)})
}

func (s *server) resumeSession(ctx context.Context, in *input) (reply, error) {
	resumed, err := s.Sessions.Resume(ctx, in.sessionID(), in.body.Get("dynamicTools").JSON())
	if err != nil {
		return reply{}, err
	}
	return ok(sessionBody{Session: viewSession(resumed), Thread: thread(resumed)})
}

// unknownProjectError refuses to put a session into a project that is not there.
type unknownProjectError struct{ sessionID, projectID string }

func (e *unknownProjectError) Error() string { return "project " + e.projectID + " is unknown" }

func (s *server) assignProject(ctx context.Context, in *input) (reply, error) {
	projectID := in.body.Get("projectId").TextPointer()
	previous := in.session.ProjectID
	assigned, err := s.Sessions.AssignProject(ctx, in.sessionID(), projectID)
	if errors.Is(err, session.ErrProjectNotFound) && projectID != nil {
		return reply{}, &unknownProjectError{in.sessionID(), *projectID}
	}
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status    string  `json:"status"`
		SessionID string  `json:"sessionId"`
		ProjectID *string `json:"projectId"`
		Previous  *string `json:"previousProjectId"`
	}{"ok", assigned.ID, assigned.ProjectID, previous})
}
