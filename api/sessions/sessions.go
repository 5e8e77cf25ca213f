package sessions

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

var (
	listSessionsQuery = schema.Struct(
		rest.Optional("archived", rest.Flag), rest.Optional("cursor", rest.Cursor), rest.Optional("limit", rest.Limit),
		rest.Optional("includeSystemOwned", rest.Flag), rest.Optional("q", schema.Text{}.Trim().Max(operations.MaxSearch)),
		rest.Optional("runtime", rest.RuntimeName), rest.Optional("project", rest.Key),
		rest.Optional("state", schema.Enum(string(session.StateIdle), string(session.StateRunning),
			string(session.StateWaiting), string(session.StateError), string(session.StateUnresponsive))),
		rest.Optional("sort", schema.Enum(string(session.SortUpdated), string(session.SortCreated))), viewField)
	createSessionBody = schema.Optional(schema.Struct(
		rest.Optional("cwd", schema.Text{}.Min(1)), rest.Optional("model", modelField),
		rest.Optional("approvalPolicy", approvalPolicyField), rest.Optional("networkAccess", networkAccessField),
		rest.Optional("filesystemSandbox", filesystemSandboxField), rest.Optional("dynamicTools", dynamicToolsField),
		rest.Optional("runtime", rest.RuntimeName), rest.Optional("implicitSources", implicitField),
		rest.Optional("nonInteractive", schema.Boolean()),
		rest.Optional("worktree", worktreeWish),
		rest.Optional("nativeTools", schema.Enum(runtime.NativeToolsOn, runtime.NativeToolsOff)),
		rest.Optional("projectId", schema.Text{}.Trim().Min(1).Max(operations.MaxProjectID)),
		rest.Optional("message", firstMessage)))
	firstMessage = schema.Struct(rest.Required("text", schema.Text{}.Trim().Min(1)), rest.Optional("effort", effortField),
		rest.Optional("images", imagesField))
	implicitField     = schema.Enum(runtime.ImplicitAll, runtime.ImplicitHome, runtime.ImplicitNone)
	renameSessionBody = schema.Struct(rest.Required("title", schema.Text{}.Trim().Min(1).Max(operations.MaxTitle)))
	resumeSessionBody = schema.Optional(schema.Struct(rest.Optional("dynamicTools", dynamicToolsField)))
	assignProjectBody = schema.Struct(
		rest.Required("projectId", schema.Nullable(schema.Text{}.Trim().Min(1).Max(operations.MaxProjectID))))
)

func (s *sessions) sessionRoutes() []rest.Route {
	const one = "/api/sessions/:sessionId"
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/sessions", OwnReach: true, Query: listSessionsQuery, Handle: s.listSessions},
		{Method: http.MethodPost, Path: "/api/sessions", OwnReach: true, Body: createSessionBody, Once: true, Begins: true,
			Handle: s.createSession},
		{Method: http.MethodGet, Path: one, Agent: rest.AgentSession, Operation: operations.Read, Query: readSessionQuery,
			Handle: s.readSession},
		{Method: http.MethodPost, Path: one + "/read", Access: rest.AccessViewer, Operation: operations.Read, Body: markReadBody,
			Handle: s.markRead},
		{Method: http.MethodDelete, Path: one + "/read", Access: rest.AccessViewer, Operation: operations.Read, Handle: s.markUnread},
		{Method: http.MethodGet, Path: one + "/sources", Operation: operations.ReadSources, Handle: s.readSources},
		{Method: http.MethodDelete, Path: one, Operation: operations.Delete, BodyFirst: true, Handle: s.deleteSession},
		{Method: http.MethodPost, Path: one + "/rename", Agent: rest.AgentSession, Operation: operations.Rename,
			Body: renameSessionBody, Handle: s.renameSession},
		{Method: http.MethodPost, Path: one + "/archive", Operation: operations.Archive, Handle: s.archiveSession},
		{Method: http.MethodPost, Path: one + "/unarchive", Operation: operations.Unarchive, Handle: s.unarchiveSession},
		{Method: http.MethodPost, Path: one + "/resume", Operation: operations.Resume, BodyFirst: true,
			Body: resumeSessionBody, Handle: s.resumeSession},
		{Method: http.MethodPost, Path: one + "/project", Operation: operations.AssignProject, Body: assignProjectBody,
			Handle: s.assignProject},
	}
}

func (s *sessions) listSessions(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	query := session.ListQuery{
		Archived: in.Query.Get("archived").Text() == "true", Cursor: in.Query.Get("cursor").Text(),
		Limit: int(in.Query.Get("limit").Int()), IncludeSystemOwned: in.Query.Get("includeSystemOwned").Text() == "true",
		Text: in.Query.Get("q").Text(), Runtime: in.Query.Get("runtime").Text(),
		ProjectID: in.Query.Get("project").Text(), State: session.State(in.Query.Get("state").Text()),
		Sort: session.Sort(in.Query.Get("sort").Text()), Figures: figures(in), Reader: in.Actor,
	}
	page, err := s.reader.List(ctx, query)
	if err != nil {
		return rest.Reply{}, err
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
	return rest.OK(body)
}

func (s *sessions) createSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	wanted := createOf(in)
	if message := in.Body.Get("message"); message.Defined() {
		return s.startSession(ctx, wanted, session.Message{Text: message.Get("text").Text(), Effort: message.Get("effort").Text(),
			Images: imageURLs(message.Get("images").Items())})
	}
	created, err := s.opener.Create(ctx, wanted)
	if err != nil {
		return rest.Reply{}, err
	}
	rest.NoteSession(ctx, created.ID)
	return rest.OK(sessionBody{Session: viewSession(created), Thread: thread(created)})
}

func createOf(in *rest.Input) session.Create {
	return session.Create{
		Cwd: in.Body.Get("cwd").Text(), Model: in.Body.Get("model").TextPointer(),
		ApprovalPolicy: in.Body.Get("approvalPolicy").TextPointer(),
		NetworkAccess:  in.Body.Get("networkAccess").TextPointer(), FilesystemSandbox: in.Body.Get("filesystemSandbox").
				TextPointer(), DynamicTools: in.Body.Get("dynamicTools").JSON(), Runtime: in.Body.Get("runtime").Text(),
		ImplicitSources: in.Body.Get("implicitSources").Text(), NativeTools: in.Body.Get("nativeTools").Text(),
		ProjectID:      in.Body.Get("projectId").Text(),
		NonInteractive: in.Body.Get("nonInteractive").True(),
		Worktree:       worktreeOf(in),
	}
}

// startSession opens a session with its first message. If the message cannot be sent, the response has the session and
// the reason: a failure would let the client repeat the request, and open a second session.
func (s *sessions) startSession(ctx context.Context, wanted session.Create, message session.Message) (rest.Reply, error) {
	started, err := s.starter.Start(ctx, wanted, message)
	if err != nil {
		return rest.Reply{}, err
	}
	id := started.Session.ID
	rest.NoteSession(ctx, id)
	body := struct {
		sessionBody
		Turn    *turnBody `json:"turn"`
		Failure any       `json:"failure,omitempty"`
	}{sessionBody: sessionBody{Session: viewSession(started.Session), Thread: thread(started.Session)}}
	if started.Unsent != nil {
		rest.NoteError(ctx, started.Unsent)
		body.Failure = s.failureOf(started.Unsent, id).Body
	} else {
		rest.NoteTurn(ctx, started.Sent.TurnID)
		body.Turn = &turnBody{Status: "accepted", SessionID: id, TurnID: started.Sent.TurnID}
	}
	return rest.OK(body)
}

func (s *sessions) deleteSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	deleted, err := s.editor.Delete(ctx, in.SessionID())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status           string `json:"status"`
		SessionID        string `json:"sessionId"`
		Title            string `json:"title"`
		DeletedFileCount int    `json:"deletedFileCount"`
	}{"ok", deleted.SessionID, deleted.Title, deleted.DeletedFileCount})
}

func (s *sessions) renameSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	renamed, err := s.editor.Rename(ctx, in.SessionID(), in.Body.Get("title").Text())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status  string      `json:"status"`
		Session sessionView `json:"session"`
	}{"ok", viewSession(renamed)})
}

func (s *sessions) archiveSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	archived, err := s.editor.Archive(ctx, in.SessionID())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
	}{"ok", archived.ID})
}

func (s *sessions) unarchiveSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	restored, err := s.editor.Unarchive(ctx, in.SessionID())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(sessionBody{Status: "ok", Session: viewSession(restored), Thread: thread(restored)})
}

func (s *sessions) resumeSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	resumed, err := s.editor.Resume(ctx, in.SessionID(), in.Body.Get("dynamicTools").JSON())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(sessionBody{Session: viewSession(resumed), Thread: thread(resumed)})
}

func (s *sessions) assignProject(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	assigned, previous, err := s.editor.AssignProject(ctx, in.SessionID(), in.Body.Get("projectId").TextPointer())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status    string  `json:"status"`
		SessionID string  `json:"sessionId"`
		ProjectID *string `json:"projectId"`
		Previous  *string `json:"previousProjectId"`
	}{"ok", assigned.ID, assigned.ProjectID, previous})
}
