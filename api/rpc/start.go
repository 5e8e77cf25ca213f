package rpc

import (
	"context"
	"slices"

	"harness/api/rpc/registry"
	"harness/api/rpc/wire"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

// permissionModes are cdev's names for what an agent may do without approval.
var permissionModes = [...]string{"", "default", "acceptEdits", "bypassPermissions", "plan", "interactive"}

// agentParam names the runtime of a call.
func agentParam() param {
	return text(agentField, "The runtime; by default the session's, or the default one.")
}

func permissionParams() []param {
	return []param{text("permission_mode", "What the agent may do without approval.").of(permissionModes[:]...),
		flag("yolo_mode", "Equivalent to permission_mode bypassPermissions."), agentParam()}
}

func sessionMethods() []method {
	return []method{
		{name: registry.Start, summary: "Open or continue a session in a workspace.", role: roleOperator,
			scope: scopeRuntime, works: true, params: append([]param{text("workspace_id", "The project.").must(),
				text("session_id", "The session to continue; by default the newest one, or a new one."),
				text("resume_session_id", "An alias that some clients use."),
				text("mode", "new always creates a session.").of("new", "resume"),
				text("model", "The model of a new session."), text("prompt", "The first message.")}, permissionParams()...),
			result: ref("StartResult"), handle: start},
		{name: registry.Send, summary: "Send a message to a session; it starts a turn or steers the running one.",
			role: roleOperator, scope: scopeRuntime, works: true,
			params: append([]param{text("prompt", "The message.").must(), text("session_id", "The session."),
				text("workspace_id", "Without a session: open one in this workspace."),
				text("mode", "").of("new", "continue")}, permissionParams()...),
			result: ref("SendResult"), handle: send},
		{name: registry.Stop, summary: "Stop the running turn of a session.", role: roleOperator, scope: scopeRuntime, works: true,
			params: []param{text("session_id", "The session.").must(),
				flag("keep_background", "Leave the background work of the turn running."), agentParam()},
			result: ref("StopResult"), handle: stop},
	}
}

// controls returns the controls of a permission mode. A part is nil if the mode does not set it.
func (c *call) controls() (controls operations.Permissions, err error) {
	word := func(s string) *string { return &s }
	edits := func(accepted bool) *bool { return &accepted }
	mode := c.text("permission_mode")
	switch {
	case c.flag("yolo_mode"), mode == "bypassPermissions":
		if !c.server.opts.Yolo {
			field := "permission_mode"
			if c.flag("yolo_mode") {
				field = "yolo_mode"
			}
			return controls, invalidParams(field, "not allowed by the server",
				field+" is not allowed by the server (HARNESS_ALLOW_YOLO)")
		}
		return operations.Permissions{ApprovalPolicy: word("never"), FilesystemSandbox: word("danger-full-access"),
			AcceptEdits: edits(false)}, nil
	case mode == "acceptEdits":
		return operations.Permissions{ApprovalPolicy: word("on-request"), AcceptEdits: edits(true)}, nil
	case mode == "plan":
		return operations.Permissions{FilesystemSandbox: word("read-only"), AcceptEdits: edits(false)}, nil
	}
	return controls, nil
}

// startResult is the result of session/start.
type startResult struct {
	SessionID   string  `json:"session_id"`
	ID          string  `json:"id"`
	WorkspaceID string  `json:"workspace_id"`
	AgentType   string  `json:"agent_type"`
	Status      string  `json:"status"`
	Source      string  `json:"source"`
	Message     string  `json:"message"`
	StartedAt   *string `json:"started_at,omitempty"`
	Pending     *bool   `json:"has_pending_permission,omitempty"`
}

func start(ctx context.Context, c *call) (any, error) {
	space, err := c.workspace(ctx, c.text("workspace_id"))
	if err != nil {
		return nil, err
	}
	wants, err := c.controls()
	if err != nil {
		return nil, err
	}
	named := c.text("session_id") + c.text("resume_session_id")
	switch found, err := c.toTakeUp(ctx, space.ID, named); {
	case err != nil:
		return nil, err
	case found != nil:
		return c.takeUp(ctx, *found, wants)
	case named != "":
		return startResult{WorkspaceID: space.ID, AgentType: c.agent, Status: "not_found",
			Message: "No session with this id; workspace/session/history lists the sessions"}, nil
	}
	return c.openNew(ctx, space, wants)
}

// toTakeUp returns the session of session/start: the named one, or the newest one of the workspace and runtime. It
// returns nil for a new session.
func (c *call) toTakeUp(ctx context.Context, workspaceID, named string) (*session.Session, error) {
	if named != "" {
		return c.session, nil
	}
	if c.text("mode") == "new" {
		return nil, nil
	}
	page, err := c.ops().List(ctx, session.ListQuery{ProjectID: workspaceID, Runtime: c.agent, Limit: 1})
	if err != nil || len(page.Sessions) == 0 {
		return nil, err
	}
	return &page.Sessions[0], nil
}

// takeUp continues a session. The next message loads it, not this call, so viewing a session costs nothing.
func (c *call) takeUp(ctx context.Context, found session.Session, wants operations.Permissions) (any, error) {
	if err := c.setControls(ctx, found.ID, wants); err != nil {
		return nil, err
	}
	if prompt := c.text("prompt"); prompt != "" {
		if _, err := c.ops().Send(ctx, found.ID, session.Message{Text: prompt}); err != nil {
			return nil, err
		}
	}
	read, err := c.read(ctx, found.ID)
	if err != nil {
		return nil, err
	}
	result := startResult{SessionID: found.ID, ID: found.ID, WorkspaceID: found.Owner(), AgentType: found.Runtime,
		Status: "attached", Source: "history", Message: "The session is ready", StartedAt: isoOf(found.CreatedAt)}
	if turning(read.Activity.State) {
		pending := read.Activity.PendingCount > 0
		result.Status, result.Source, result.Message, result.Pending =
			"existing", "managed", "The session is running", &pending
	}
	return result, nil
}

func (c *call) setControls(ctx context.Context, sessionID string, wants operations.Permissions) error {
	if wants == (operations.Permissions{}) {
		return nil
	}
	return c.ops().SetPermissions(ctx, sessionID, wants, c.audit())
}

// create returns the requested properties of a new session.
func create(agent string, wants operations.Permissions) session.Create {
	return session.Create{Runtime: agent, ApprovalPolicy: wants.ApprovalPolicy, FilesystemSandbox: wants.FilesystemSandbox,
		AcceptEdits: wants.AcceptEdits != nil && *wants.AcceptEdits}
}

// openNew creates a session. If the registry resolves new ids, the client first gets a temporary id, and an event
// announces the real one.
func (c *call) openNew(ctx context.Context, space session.Project, wants operations.Permissions) (any, error) {
	in := create(c.agent, wants)
	if space.WorkingDirectory != nil {
		in.Cwd, in.ProjectID = *space.WorkingDirectory, space.ID
	}
	if model := c.text("model"); model != "" {
		in.Model = &model
	}
	result := startResult{WorkspaceID: space.ID, AgentType: c.agent, Status: "started", Source: "managed",
		Message: "A new session was started", StartedAt: isoOf(c.server.opts.Clock().UnixMilli())}
	if registry.ResolvesNewIDs(c.agent) {
		promise, err := c.ops().CreateLater(ctx, in, space.ID)
		if err != nil {
			return nil, err
		}
		result.SessionID, result.ID = promise.ID, promise.ID
		c.later(ctx, func(ctx context.Context) error {
			if err := promise.Keep(ctx, c.word(ctx)); err != nil {
				return err
			}
			return c.sayFirst(ctx, promise.ID)
		})
		return result, nil
	}
	in.ProjectID = space.ID
	made, err := c.ops().Create(ctx, in)
	if err != nil {
		return nil, err
	}
	result.SessionID, result.ID = made.ID, made.ID
	if _, _, err = c.ops().AssignProject(ctx, made.ID, &space.ID); err != nil {
		return nil, err
	}
	return result, c.sayFirst(ctx, made.ID)
}

// sayFirst sends the prompt of session/start, if any.
func (c *call) sayFirst(ctx context.Context, sessionID string) error {
	prompt := c.text("prompt")
	if prompt == "" {
		return nil
	}
	real, err := c.ops().RealID(ctx, sessionID)
	if err == nil {
		_, err = c.ops().Send(ctx, real, session.Message{Text: prompt})
	}
	return err
}

// later runs a function after the response, even if the socket closes. A stopping server waits for it.
func (c *call) later(ctx context.Context, fn func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	wire.Later(ctx, func() {
		c.server.desk.Later(func() {
			if err := fn(ctx); err != nil {
				telemetry.Log(ctx).Warn().Err(err).Str("method", c.method.name).Msg("work after a response failed")
			}
		})
	})
}

// word returns a function that formats an error as the message of an event.
func (c *call) word(ctx context.Context) func(error) string {
	return func(err error) string { return c.failed(ctx, err).Message }
}

func isoOf(ms int64) *string {
	iso := javascript.ISOTime(ms)
	return &iso
}

func turning(state session.State) bool {
	return slices.Contains([]session.State{session.StateRunning, session.StateWaiting, session.StateUnresponsive}, state)
}

// sendResult is the result of session/send.
type sendResult struct {
	Status      string `json:"status"`
	SessionID   string `json:"session_id"`
	AgentType   string `json:"agent_type"`
	TurnID      string `json:"turn_id"`
	Steered     bool   `json:"steered"`
	MessageID   string `json:"message_id,omitempty"`
	Position    int    `json:"queue_position,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	AutoCreated bool   `json:"auto_created,omitempty"`
}

func send(ctx context.Context, c *call) (any, error) {
	wants, err := c.controls()
	if err != nil {
		return nil, err
	}
	result := sendResult{Status: "sent", AgentType: c.agent}
	to := c.session
	if to == nil {
		if to, err = c.sessionToSendTo(ctx, wants, &result); err != nil {
			return nil, err
		}
	}
	result.SessionID = to.ID
	if !result.AutoCreated {
		// This precedes the message, so that the new mode applies to the first request of the turn.
		if err := c.setControls(ctx, to.ID, wants); err != nil {
			return nil, err
		}
	}
	sent, err := c.ops().Send(ctx, to.ID, session.Message{Text: c.text("prompt")})
	if err != nil {
		return nil, err
	}
	if result.TurnID, result.MessageID, result.Position = sent.TurnID, sent.QueuedID, sent.Position; sent.QueuedID != "" {
		result.Status = "queued"
	}
	result.Steered = sent.Steered
	return result, nil
}

// sessionToSendTo returns the session for a message that names none: the newest of its workspace, or a new one.
func (c *call) sessionToSendTo(ctx context.Context, wants operations.Permissions, result *sendResult) (*session.Session, error) {
	workspace := c.text("workspace_id")
	if workspace == "" {
		return nil, invalidParams("session_id", "required", "either session_id or workspace_id is required")
	}
	space, err := c.workspace(ctx, workspace)
	if err != nil {
		return nil, err
	}
	result.WorkspaceID = space.ID
	if c.text("mode") == "continue" {
		found, err := c.toTakeUp(ctx, space.ID, "")
		if found != nil || err != nil {
			return found, err
		}
	}
	in := create(c.agent, wants)
	in.Cwd = *space.WorkingDirectory
	made, err := c.ops().Create(ctx, in)
	if err == nil {
		result.AutoCreated = true
		_, _, err = c.ops().AssignProject(ctx, made.ID, &space.ID)
	}
	return &made, err
}

// stopResult is the result of session/stop.
type stopResult struct {
	Success   bool   `json:"success"`
	Status    string `json:"status"`
	SessionID string `json:"session_id"`
	AgentType string `json:"agent_type"`
	// Ended is the background work that ended with the turn. Background is the work that continues.
	Ended      []session.BackgroundTask `json:"ended_background,omitempty"`
	Background []session.BackgroundTask `json:"background,omitempty"`
}

func stop(ctx context.Context, c *call) (any, error) {
	stopped, err := c.ops().Stop(ctx, c.session.ID, c.flag("keep_background"))
	if err != nil {
		return nil, err
	}
	return stopResult{true, "stopped", c.session.ID, c.agent, stopped.Ended, stopped.GoesOn}, nil
}
