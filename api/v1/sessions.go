package v1

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"harness/api/calls"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
)

// sessionBody is a session as clients see it.
type sessionBody struct {
	SessionID        string  `json:"session_id"`
	Runtime          string  `json:"runtime"`
	RuntimeSessionID *string `json:"runtime_session_id"`
	CreatedAt        string  `json:"created_at"`
	Cwd              string  `json:"cwd"`
	Title            string  `json:"title"`
	Model            *string `json:"model"`
	// Mode is what its tasks may do without approval. It is null where the levels of its controls decide.
	Mode *tasks.Mode `json:"permission_mode"`
	// Isolation is how its runtime is hosted.
	Isolation string `json:"isolation_mode"`
	// NativeTools is "off" for an agent without built-in tools.
	NativeTools string `json:"native_tools,omitempty"`
	// Activity is the running turn and the background work.
	Activity session.Doing `json:"activity"`
	// Level and Namespace define where its runtime stores logins and state.
	Level     string `json:"isolation_level"`
	Namespace string `json:"credential_namespace"`
}

// isolation is how the server hosts every runtime: in a separate process.
const isolation = "subprocess"

// view converts a session for clients.
func (s *Server) view(ctx context.Context, sessions ...session.Session) ([]sessionBody, error) {
	ids := make([]string, len(sessions))
	for i := range sessions {
		ids[i] = sessions[i].ID
	}
	modes, err := s.opts.Tasks.Modes(ctx, ids...)
	if err != nil {
		return nil, err
	}
	views := make([]sessionBody, len(sessions))
	for i := range sessions {
		one := &sessions[i]
		title, _ := one.Shown()
		views[i] = sessionBody{SessionID: one.ID, Runtime: one.Runtime, CreatedAt: javascript.ISOTime(one.CreatedAt),
			Cwd: one.Cwd, Title: title, Model: one.Controls.Model, Isolation: isolation,
			NativeTools: one.Controls.NativeTools, Activity: one.Activity.Doing()}
		views[i].Level, views[i].Namespace = s.opts.Credentials(one.Runtime)
		if one.RuntimeSessionID != "" {
			views[i].RuntimeSessionID = &one.RuntimeSessionID
		}
		if mode := modes[one.ID]; mode != "" {
			views[i].Mode = &mode
		}
	}
	return views, nil
}

// replyOne returns a session.
func (s *Server) replyOne(ctx context.Context, w http.ResponseWriter, status int, one session.Session) error {
	views, err := s.view(ctx, one)
	if err != nil {
		return err
	}
	return reply(w, status, views[0])
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) error {
	b, err := s.read(r, "runtime", "cwd", "model", "permission_mode", "credential_namespace", "isolation_level",
		"isolation_mode", "env", "runtime_config", "non_interactive", "native_tools", "client_id", "request_id", "user_id",
		"implicit_sources", "allow_changed_sources")
	if err != nil {
		return err
	}
	for _, err := range []error{
		b.only("isolation_mode", "every runtime has its own process here", `"`+isolation+`"`),
		b.only("env", "the operator sets the environment of agents", `{}`),
		b.runtimeConfig(),
	} {
		if err != nil {
			return err
		}
	}
	var in tasks.Create
	if in.Origin, err = originOf(w, b); err != nil {
		return err
	}
	for name, into := range map[string]*string{"runtime": &in.Runtime, "cwd": &in.Cwd, "model": &in.Model} {
		if *into, err = b.text(name); err != nil {
			return err
		}
	}
	if in.Mode, err = modeOf(b); err != nil {
		return err
	}
	if in.NonInteractive, err = b.flag("non_interactive"); err != nil {
		return err
	}
	if in.NativeTools, err = b.text("native_tools"); err != nil {
		return err
	}
	if !slices.Contains([]string{"", runtime.NativeToolsOn, runtime.NativeToolsOff}, in.NativeTools) {
		return invalid("native_tools must be on or off")
	}
	in.NativeTools = cmp.Or(in.NativeTools, runtime.NativeToolsOff)
	if in.ImplicitSources, err = b.text("implicit_sources"); err != nil {
		return err
	}
	in.ImplicitSources = cmp.Or(in.ImplicitSources, session.NarrowestSources)
	if in.AllowChangedSources, err = b.flag("allow_changed_sources"); err != nil {
		return err
	}
	in.Runtime = s.runtimeName(in.Runtime)
	if err := s.checkCredentials(b, in.Runtime); err != nil {
		return err
	}
	made, err := s.opts.Tasks.CreateSession(r.Context(), in)
	if err != nil {
		return err
	}
	calls.About(r.Context(), made.ID, "")
	return s.replyOne(r.Context(), w, http.StatusCreated, made)
}

func modeOf(b body) (tasks.Mode, error) {
	mode, err := b.text("permission_mode")
	if err == nil && mode != "" && !slices.Contains([]tasks.Mode{tasks.ModeAsk, tasks.ModeAuto, tasks.ModeYolo},
		tasks.Mode(mode)) {
		err = invalid("permission_mode must be ask, auto or yolo")
	}
	return tasks.Mode(mode), err
}

// runtimeName returns one of this server's runtimes for the name NAME-agent-sdk, which clients of other servers send.
func (s *Server) runtimeName(name string) string {
	states, err := s.opts.Operations.RuntimeStates()
	if err != nil {
		return name // the code that uses the name refuses it
	}
	for _, one := range states {
		for _, suffix := range []string{"-agent-sdk", "-sdk", "-cli-core", "-server"} {
			if plain, cut := strings.CutSuffix(name, suffix); cut && plain == one.Name {
				return plain
			}
		}
	}
	return name
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	const most = 500
	limit, err := count(r, "limit", 100, 0, 1<<31)
	if err != nil {
		return err
	}
	limit = min(max(limit, 1), most)
	list := struct {
		Sessions  []sessionBody `json:"sessions"`
		NextAfter *string       `json:"next_after"`
	}{Sessions: []sessionBody{}}
	query := session.ListQuery{Cursor: r.URL.Query().Get("after")}
	for int64(len(list.Sessions)) < limit {
		query.Limit = int(min(limit-int64(len(list.Sessions)), 100))
		page, err := s.opts.Operations.List(r.Context(), query)
		if err != nil {
			return err
		}
		views, err := s.view(r.Context(), page.Sessions...)
		if err != nil {
			return err
		}
		list.Sessions = append(list.Sessions, views...)
		if query.Cursor = page.NextCursor; query.Cursor == "" {
			break
		}
	}
	if query.Cursor != "" {
		list.NextAfter = &query.Cursor
	}
	return reply(w, http.StatusOK, list)
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	found, err := s.opts.Operations.Find(r.Context(), sessionOf(r))
	if err != nil {
		return err
	}
	if found.SystemOwned {
		return session.ErrNotFound
	}
	read, _, err := s.opts.Operations.Read(r.Context(), found.ID, operations.Reading{Limit: 1})
	if err != nil {
		return err
	}
	found.Activity = read.Session.Activity
	return s.replyOne(r.Context(), w, http.StatusOK, found)
}

// stopBackground ends one background task of a session.
func (s *Server) stopBackground(w http.ResponseWriter, r *http.Request) error {
	sessionID := sessionOf(r)
	left, err := s.opts.Operations.EndBackground(r.Context(), sessionID, r.PathValue("taskId"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		SessionID  string                   `json:"session_id"`
		Background []session.BackgroundTask `json:"background"`
	}{sessionID, append([]session.BackgroundTask{}, left...)})
}
