package rpc

import (
	"context"
	"math"
	"time"

	"harness/api/rpc/events"
	"harness/api/rpc/registry"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/services/session"
	"harness/transcript"
)

const (
	defaultHistory  = 50
	defaultMessages = 50
	mostMessages    = 500
)

func readMethods() []method {
	sessionID := text("session_id", "The session.")
	page := func(needs ...param) []param {
		return append(needs, count("limit", "The maximum number, by default 500."), count("offset", "How many to skip."),
			text("order", "").of("asc", "desc"), agentParam())
	}
	history := []param{text("workspace_id", "The project.").must(), count("limit", "The maximum number, by default 50."), agentParam()}
	return []method{
		{name: registry.History, summary: "The sessions of a workspace, newest first.", role: roleViewer, scope: scopeRuntime,
			params: history, result: ref("HistoryPage"), handle: listHistory},
		{name: "session/history", summary: "As workspace/session/history.", role: roleViewer, scope: scopeRuntime,
			params: history, result: ref("HistoryPage"), handle: listHistory},
		{name: registry.Messages, summary: "The messages of a session, by page.", role: roleViewer, scope: scopeRuntime,
			params: page(text("workspace_id", "The project.").must(), sessionID.must()), result: ref("MessagePage"),
			handle: listMessages},
		{name: "session/messages", summary: "As workspace/session/messages.", role: roleViewer, scope: scopeRuntime,
			params: page(sessionID.must()), result: ref("MessagePage"), handle: listMessages},
		elementsMethod(),
		{name: registry.State, summary: "The state of a session and its pending requests.", role: roleViewer, scope: scopeRuntime,
			params: []param{sessionID.must(), agentParam()}, result: ref("SessionState"), handle: sessionState},
		{name: "session/info", summary: "A session.", role: roleViewer, scope: scopeRuntime,
			params: []param{sessionID.must(), agentParam()}, result: ref("Session"), handle: sessionInfo},
		{name: "session/get", summary: "As session/info.", role: roleViewer, scope: scopeRuntime,
			params: []param{sessionID.must(), agentParam()}, result: ref("Session"), handle: sessionInfo},
		{name: "session/active", summary: "The sessions in which a turn runs.", role: roleViewer,
			params: []param{text("workspace_id", "Only sessions of this project.")}, result: object("sessions"), handle: listActive},
		{name: "session/list", summary: "Sessions, newest first.", role: roleViewer,
			params: []param{text(agentField, "Only sessions of this runtime."), text("workspace_id", "Only sessions of this project."),
				count("limit", "The maximum number, by default 50.")},
			result: object("sessions", "total"), handle: listSessions},
	}
}

// sessionView is a session in a list. It has the id under both names that clients know.
type sessionView struct {
	SessionID   string  `json:"session_id"`
	ID          string  `json:"id"`
	WorkspaceID string  `json:"workspace_id"`
	AgentType   string  `json:"agent_type"`
	Summary     string  `json:"summary"`
	ProjectPath string  `json:"project_path"`
	Status      string  `json:"status"`
	StartedAt   string  `json:"started_at"`
	LastUpdated string  `json:"last_updated"`
	LastActive  string  `json:"last_active"`
	Model       *string `json:"model,omitempty"`
	// StartTime is StartedAt under the name that session/get uses.
	StartTime string `json:"start_time"`
	// MessageCount is the number of messages in workspace/session/messages.
	MessageCount int64 `json:"message_count"`
	// Activity is the running turn and the background work.
	Activity session.Doing `json:"activity"`
}

func viewSession(s session.Session) sessionView {
	updated := javascript.ISOTime(s.UpdatedAt)
	title, _ := s.Shown()
	v := sessionView{SessionID: s.ID, ID: s.ID, WorkspaceID: s.Owner(), AgentType: s.Runtime, Summary: title,
		ProjectPath: s.Cwd, Status: "historical", StartedAt: javascript.ISOTime(s.CreatedAt), LastUpdated: updated,
		LastActive: updated, Model: s.Controls.Model, StartTime: javascript.ISOTime(s.CreatedAt),
		Activity: s.Activity.Doing()}
	if turning(s.Activity.State) {
		v.Status = "running"
	}
	return v
}

// counted adds the number of messages to sessions.
func (c *call) counted(ctx context.Context, views ...*sessionView) error {
	ids := make([]string, len(views))
	for i, view := range views {
		ids[i] = view.ID
	}
	counts, err := c.ops().MessageCounts(ctx, ids)
	for _, view := range views {
		view.MessageCount = counts[view.ID]
	}
	return err
}

func (c *call) countedAll(ctx context.Context, list []sessionView) error {
	views := make([]*sessionView, len(list))
	for i := range list {
		views[i] = &list[i]
	}
	return c.counted(ctx, views...)
}

// every calls fn with all sessions of a query, page by page, until fn returns false.
func (c *call) every(ctx context.Context, query session.ListQuery, fn func(session.Session) bool) error {
	query.Limit = operations.MaxPage
	for {
		page, err := c.ops().List(ctx, query)
		if err != nil {
			return err
		}
		for _, one := range page.Sessions {
			if !fn(one) {
				return nil
			}
		}
		if query.Cursor = page.NextCursor; query.Cursor == "" {
			return nil
		}
	}
}

// page returns the first sessions of a query and the count of all of them.
func (c *call) page(ctx context.Context, query session.ListQuery, limit int64) (list []sessionView, total int,
	err error) {
	list = []sessionView{}
	err = c.every(ctx, query, func(one session.Session) bool {
		if c.shows(one.Runtime, query.Runtime) {
			if total++; int64(len(list)) < limit {
				list = append(list, viewSession(one))
			}
		}
		return true
	})
	if err == nil {
		err = c.countedAll(ctx, list)
	}
	return list, total, err
}

// shows reports whether the client can show sessions of a runtime. A client that did not announce support for
// runtimes may know only two.
func (c *call) shows(agent, asked string) bool {
	c.peer.mu.Lock()
	defer c.peer.mu.Unlock()
	return agent == asked || c.peer.runtimes || agent == "claude" || agent == "codex"
}

func listHistory(ctx context.Context, c *call) (any, error) {
	space, err := c.workspace(ctx, c.text("workspace_id"))
	if err != nil {
		return nil, err
	}
	list, total, err := c.page(ctx, session.ListQuery{ProjectID: space.ID, Runtime: c.agent},
		c.count("limit", defaultHistory))
	return historyPage{list, total}, err
}

type historyPage struct {
	Sessions []sessionView `json:"sessions"`
	Total    int           `json:"total"`
}

func listSessions(ctx context.Context, c *call) (any, error) {
	list, total, err := c.page(ctx, session.ListQuery{ProjectID: c.text("workspace_id"), Runtime: c.text(agentField)},
		c.count("limit", defaultHistory))
	return historyPage{list, total}, err
}

func listActive(ctx context.Context, c *call) (any, error) {
	list := []sessionView{}
	err := c.every(ctx, session.ListQuery{ProjectID: c.text("workspace_id")}, func(one session.Session) bool {
		if turning(one.Activity.State) && c.shows(one.Runtime, "") {
			list = append(list, viewSession(one))
		}
		return true
	})
	if err == nil {
		err = c.countedAll(ctx, list)
	}
	return struct {
		Sessions []sessionView `json:"sessions"`
	}{list}, err
}

// read returns a session with its current activity.
func (c *call) read(ctx context.Context, sessionID string) (session.Session, error) {
	detail, _, err := c.ops().Read(ctx, sessionID, operations.Reading{Limit: 1})
	return detail.Session, err
}

func sessionInfo(ctx context.Context, c *call) (any, error) {
	read, err := c.read(ctx, c.session.ID)
	if err != nil {
		return nil, err
	}
	view := viewSession(read)
	err = c.counted(ctx, &view)
	return view, err
}

// stateResult is the state of a session. cdev's clients read the members named after claude for every runtime.
type stateResult struct {
	sessionView
	RuntimeState    string   `json:"runtime_state"`
	ClaudeState     string   `json:"claude_state"`
	ClaudeSessionID string   `json:"claude_session_id"`
	IsRunning       bool     `json:"is_running"`
	Waiting         bool     `json:"waiting_for_input"`
	PendingID       string   `json:"pending_tool_use_id,omitempty"`
	PendingName     string   `json:"pending_tool_name,omitempty"`
	Error           string   `json:"error,omitempty"`
	Viewers         []string `json:"viewers"`
}

func sessionState(ctx context.Context, c *call) (any, error) {
	read, err := c.read(ctx, c.session.ID)
	if err != nil {
		return nil, err
	}
	result := stateResult{sessionView: viewSession(read), ClaudeSessionID: read.RuntimeSessionID, RuntimeState: "idle",
		IsRunning: turning(read.Activity.State), Viewers: ids(c.server.viewing(read.ID), nil)}
	if result.Status != "running" {
		result.Status = "stopped"
	}
	switch read.Activity.State {
	case session.StateRunning, session.StateUnresponsive:
		result.RuntimeState = "running"
		if retrying := read.Activity.LastError; retrying != nil {
			result.Error = retrying.Message
		}
	case session.StateWaiting:
		result.RuntimeState = "waiting"
	case session.StateError:
		result.RuntimeState, result.Status = "error", "error"
		if failed := read.Activity.LastError; failed != nil {
			result.Error = failed.Message
		}
	}
	result.ClaudeState = result.RuntimeState
	open, err := c.open(ctx, read.ID)
	if err == nil && len(open) > 0 {
		first := open[0]
		result.Waiting, result.PendingID = true, first.ID
		result.PendingName = events.PermissionOf(first.ID, first.Summary, first.Asked).ToolName
	}
	if err == nil {
		err = c.counted(ctx, &result.sessionView)
	}
	return result, err
}

// messageView is one message of a transcript. Its number is its position in the transcript, from 1.
type messageView struct {
	ID        int64              `json:"id"`
	SessionID string             `json:"session_id"`
	Type      string             `json:"type"`
	UUID      string             `json:"uuid"`
	TurnID    string             `json:"turn_id"`
	Timestamp string             `json:"timestamp,omitempty"`
	Message   events.ChatMessage `json:"message"`
}

type messagePage struct {
	SessionID string        `json:"session_id"`
	Messages  []messageView `json:"messages"`
	Total     int64         `json:"total"`
	Limit     int64         `json:"limit"`
	Offset    int64         `json:"offset"`
	HasMore   bool          `json:"has_more"`
	QueryTime float64       `json:"query_time_ms"`
}

func listMessages(ctx context.Context, c *call) (any, error) {
	began := time.Now()
	page := messagePage{SessionID: c.session.ID, Messages: []messageView{},
		Limit: min(c.count("limit", defaultMessages), mostMessages), Offset: min(c.count("offset", 0), math.MaxInt32)}
	newestFirst := c.text("order") == "desc"
	read, err := c.ops().TranscriptPage(ctx, c.session.ID, int(page.Offset), int(page.Limit), newestFirst)
	if err != nil {
		return nil, err
	}
	page.Total = read.Total
	for i, entry := range read.Entries {
		number := page.Offset + int64(i) + 1
		if newestFirst {
			number = page.Total + 1 - number
		}
		page.Messages = append(page.Messages, viewMessage(c.session.ID, number, entry))
	}
	page.HasMore = page.Offset+int64(len(page.Messages)) < page.Total
	page.QueryTime = float64(time.Since(began).Microseconds()) / 1000
	return page, nil
}

func viewMessage(sessionID string, number int64, entry transcript.Entry) messageView {
	message := events.Stored(entry)
	one := messageView{ID: number, SessionID: sessionID, Type: message.Type, UUID: entry.MessageID, TurnID: entry.TurnID,
		Message: message}
	if entry.StartedAt != nil {
		one.Timestamp = javascript.ISOTime(*entry.StartedAt)
	}
	return one
}
