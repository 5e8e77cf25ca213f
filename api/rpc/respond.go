package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"harness/api/rpc/events"
	"harness/api/rpc/registry"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

func requestMethods() []method {
	return []method{
		{name: registry.Input, summary: "Send input to a session: an answer, a message, or a key.", role: roleOperator,
			scope: scopeRuntime, works: true, params: []param{text("session_id", "The session.").must(),
				text("input", "Text: it answers the open question, or is sent as a message."),
				text("key", "escape interrupts; enter, digits, y and n choose an option."), agentParam()},
			result: ref("InputResult"), check: checkInput, handle: input},
		{name: "session/background", summary: "The background work of a session.", role: roleViewer, scope: scopeRuntime,
			works: true, params: []param{text("session_id", "The session.").must(), agentParam()},
			result: object("session_id", "background"), handle: background},
		{name: "session/background/stop", summary: "End background work of a session.", role: roleOperator, scope: scopeRuntime,
			works: true, params: []param{text("session_id", "The session.").must(), text("id", "The task."), agentParam()},
			result: object("session_id", "background"), handle: stopBackground},
		{name: registry.Respond, summary: "Answer the oldest request of a session.", role: roleOperator, scope: scopeRuntime,
			works: true, params: []param{text("session_id", "The session.").must(),
				text("type", "The kind of request.").must().of("permission", "question"),
				text("response", "yes or no; or the answer, a JSON list of strings where several are allowed.").must(), agentParam()},
			result: object("status", "agent_type"), handle: respond},
		{name: "permission/respond", summary: "Decide a permission request.", role: roleOperator,
			params: []param{text("tool_use_id", "The request.").must(), text("decision", "").must().of("allow", "deny"),
				text("scope", "").of("once", "session"), text("message", "The reason, for agents that accept one.")},
			result: ref("PermissionResult"), handle: decide},
		{name: "permission/pending", summary: "The pending requests, oldest first.", role: roleViewer,
			params: []param{text("session_id", "Only requests of this session.")}, result: object("requests", "count"), handle: pending},
		{name: "permission/stats", summary: "The number of pending requests.", role: roleViewer,
			result: object("active_sessions", "total_patterns", "pending_requests"), handle: stats},
	}
}

func (c *call) audit() operations.Audit {
	return operations.Audit{Actor: c.peer.Actor(), Source: "json-rpc"}
}

// oldest returns the oldest request of a kind in a session.
func (c *call) oldest(ctx context.Context, kind runtime.RequestKind) (*session.Request, error) {
	open, err := c.ops().Requests(ctx, c.session.ID, kind)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	return &open[0], nil
}

func respond(ctx context.Context, c *call) (any, error) {
	kind := runtime.RequestApproval
	if c.text("type") == "question" {
		kind = runtime.RequestToolInput
	}
	open, err := c.oldest(ctx, kind)
	if err != nil {
		return nil, err
	}
	if open == nil {
		return nil, failure(failedNoRequest, c.method.name, "No "+c.text("type")+" request is pending", false)
	}
	if kind == runtime.RequestToolInput {
		err = c.answer(ctx, *open, c.text("response"))
	} else {
		err = c.decideAs(ctx, *open, c.text("response"))
	}
	if err != nil {
		return nil, c.overtaken(err)
	}
	return struct {
		Status    string `json:"status"`
		AgentType string `json:"agent_type"`
	}{"responded", c.agent}, nil
}

// overtaken reports that another client responded first.
func (c *call) overtaken(err error) error {
	var settled *session.SettledError
	if errors.As(err, &settled) {
		return failure(failedNoRequest, c.method.name, "Another client answered first", false)
	}
	return err
}

// decideAs decides an approval by a person's input.
func (c *call) decideAs(ctx context.Context, open session.Request, word string) error {
	decision := operations.ApprovalDecision{Decision: "accept", Scope: "turn"}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "yes", "y", "true", "allow", "approved", "accept", "once":
	case "session", "always":
		decision.Scope = "session"
	case "no", "n", "false", "deny", "denied", "reject", "rejected":
		decision = operations.ApprovalDecision{Decision: "decline"}
	default:
		return invalidParams("response", "must be yes or no", "response must be yes or no")
	}
	_, err := c.ops().DecideApproval(ctx, open.ID, decision, c.peer.Actor())
	return err
}

// answer answers a session's questions. A single question takes the text, several take an object of texts by
// question. A question with several answers takes a JSON list of texts.
func (c *call) answer(ctx context.Context, open session.Request, text string) error {
	type question struct {
		ID       string `json:"id"`
		Multiple bool   `json:"multiple"`
	}
	var asked []question
	questions := open.Questions
	if questions == nil {
		var params struct {
			Questions json.RawMessage `json:"questions"`
		}
		_ = json.Unmarshal(open.Params, &params) // another type: none
		questions = params.Questions
	}
	_ = json.Unmarshal(questions, &asked)
	type reply struct {
		Answers []string `json:"answers"`
	}
	answers := map[string]reply{}
	var several map[string]json.RawMessage
	switch {
	case len(asked) == 1:
		answers[asked[0].ID] = reply{texts(json.RawMessage(text), text, asked[0].Multiple)}
	case json.Unmarshal([]byte(text), &several) == nil:
		for id, given := range several {
			var one string
			many := slices.ContainsFunc(asked, func(q question) bool { return q.ID == id && q.Multiple })
			if json.Unmarshal(given, &one) != nil && !many {
				return invalidParams("response", "must be a string", "response must have a string for "+id)
			}
			answers[id] = reply{texts(given, one, many)}
		}
	default:
		return invalidParams("response", "several questions are open",
			"response must be an object of answers by question: several are open")
	}
	_, err := c.ops().DecideToolInput(ctx, open.ID,
		operations.ToolInputDecision{Decision: "accept", Answers: javascript.MustEncode(answers)}, c.peer.Actor())
	return err
}

// texts returns the answers to a question: one text, or a JSON list of texts if the question accepts several.
func texts(given json.RawMessage, one string, multiple bool) (list []string) {
	if multiple && json.Unmarshal(given, &list) == nil && list != nil {
		return list
	}
	return []string{one}
}

// inputResult is the result of session/input.
type inputResult struct {
	Status    string `json:"status"`
	AgentType string `json:"agent_type"`
	Key       string `json:"key,omitempty"`
}

// keys maps the keys of session/input to choices. escape makes no choice.
func keys() map[string]string {
	return map[string]string{"escape": "", "esc": "", "enter": "yes", "return": "yes", "y": "yes", events.KeyAllow: "yes",
		events.KeyAllowSession: "session", events.KeyDeny: "no", "3": "no"}
}

func (c *call) key() string { return strings.ToLower(strings.TrimSpace(c.text("key"))) }

func checkInput(c *call) error {
	typed, key := c.text("input"), c.key()
	switch _, known := keys()[key]; {
	case typed != "" && key != "":
		return invalidParams("key", "give input or key, not both", "give input or key, not both")
	case typed == "" && key == "":
		return invalidParams("input", "required", "either input or key is required")
	case key != "" && !known:
		return invalidParams("key", "not_a_terminal",
			"key must be escape, enter, y, n or the key of an option: there is no terminal")
	}
	return nil
}

func input(ctx context.Context, c *call) (any, error) {
	result := inputResult{Status: "sent", AgentType: c.agent, Key: c.key()}
	if typed := c.text("input"); typed != "" {
		return result, c.typeText(ctx, typed)
	}
	return result, c.press(ctx, result.Key)
}

// typeText answers the open question, or sends a message.
func (c *call) typeText(ctx context.Context, typed string) error {
	open, err := c.oldest(ctx, runtime.RequestToolInput)
	if err != nil {
		return err
	}
	if open != nil {
		return c.overtaken(c.answer(ctx, *open, typed))
	}
	_, err = c.ops().Send(ctx, c.session.ID, session.Message{Text: typed})
	return err
}

// press handles a key. escape ends the turn, and the others choose an option.
func (c *call) press(ctx context.Context, key string) error {
	word := keys()[key]
	if word == "" {
		_, err := c.ops().Interrupt(ctx, c.session.ID, "")
		if errors.Is(err, session.ErrNoActiveTurn) {
			return nil
		}
		return err
	}
	open, err := c.oldest(ctx, runtime.RequestApproval)
	if err != nil {
		return err
	}
	if open == nil {
		return failure(failedNoRequest, c.method.name, "No request is pending", false)
	}
	return c.overtaken(c.decideAs(ctx, *open, word))
}

// decided is the result of permission/respond. A late caller gets the same members, so that clients can parse it.
type decided struct {
	Success    bool        `json:"success"`
	Message    string      `json:"message,omitempty"`
	Error      string      `json:"error,omitempty"`
	Resolution *resolution `json:"resolution,omitempty"`
}

type resolution struct {
	Status    string `json:"status"`
	Decision  string `json:"decision,omitempty"`
	DecidedBy string `json:"decided_by,omitempty"`
	DecidedAt string `json:"decided_at,omitempty"`
}

func decide(ctx context.Context, c *call) (any, error) {
	id := c.text("tool_use_id")
	agent, err := c.ops().RuntimeOfRequest(ctx, id, runtime.RequestApproval)
	if err != nil {
		return nil, err
	}
	states, err := c.ops().RuntimeStates()
	if err != nil {
		return nil, err
	}
	c.agent = agent
	if refused := c.usable(states, agent); refused != nil {
		return nil, refused
	}
	decision := operations.ApprovalDecision{Decision: "decline", Message: c.text("message")}
	if c.text("decision") == "allow" {
		decision.Decision, decision.Scope = "accept", "turn"
		if c.text("scope") == "session" {
			decision.Scope = "session"
		}
	}
	_, err = c.ops().DecideApproval(ctx, id, decision, c.peer.Actor())
	var settled *session.SettledError
	if errors.As(err, &settled) {
		return late(settled.Request), nil
	}
	return decided{Success: true}, err
}

func late(request session.Request) decided {
	r := &resolution{Status: string(request.Status), DecidedBy: request.DecidedBy}
	if request.Reply != nil {
		r.Decision = "deny"
		if request.Reply.Decision == "accept" {
			r.Decision = "allow"
		}
	}
	if request.SettledAt != 0 {
		r.DecidedAt = javascript.ISOTime(request.SettledAt)
	}
	const message = "The request was already answered"
	return decided{Message: message, Error: message, Resolution: r}
}

// pendingRequest is a request that waits for a person.
type pendingRequest struct {
	ToolUseID   string          `json:"tool_use_id"`
	SessionID   string          `json:"session_id"`
	WorkspaceID string          `json:"workspace_id"`
	AgentType   string          `json:"agent_type"`
	Kind        string          `json:"kind"`
	ToolName    string          `json:"tool_name"`
	ToolInput   json.RawMessage `json:"tool_input"`
	Description string          `json:"description"`
	CreatedAt   string          `json:"created_at"`
}

// open lists the pending requests of a session, or of all sessions for "".
func (c *call) open(ctx context.Context, sessionID string) ([]session.Request, error) {
	if sessionID != "" {
		real, err := c.ops().RealID(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		sessionID = real
	}
	requests, err := c.ops().Pending(ctx, sessionID)
	return slices.DeleteFunc(requests, func(r session.Request) bool { return r.Kind == runtime.RequestToolCall }), err
}

func pending(ctx context.Context, c *call) (any, error) {
	requests, err := c.open(ctx, c.text("session_id"))
	if err != nil {
		return nil, err
	}
	list := []pendingRequest{}
	for _, r := range requests {
		one := pendingRequest{ToolUseID: r.ID, SessionID: r.SessionID, Kind: "permission", Description: r.Summary,
			CreatedAt: javascript.ISOTime(r.CreatedAt)}
		if r.Kind == runtime.RequestToolInput {
			one.Kind = "question"
		}
		asked := events.PermissionOf(r.ID, r.Summary, r.Asked)
		one.ToolName, one.ToolInput = asked.ToolName, asked.ToolInput
		if found, err := c.ops().Find(ctx, r.SessionID); err == nil {
			one.WorkspaceID, one.AgentType = found.Owner(), found.Runtime
		}
		list = append(list, one)
	}
	return struct {
		Requests []pendingRequest `json:"requests"`
		Count    int              `json:"count"`
	}{list, len(list)}, nil
}

func stats(ctx context.Context, c *call) (any, error) {
	requests, err := c.open(ctx, "")
	if err != nil {
		return nil, err
	}
	sessions := map[string]bool{}
	for _, r := range requests {
		sessions[r.SessionID] = true
	}
	return struct {
		Sessions int `json:"active_sessions"`
		Patterns int `json:"total_patterns"`
		Pending  int `json:"pending_requests"`
	}{len(sessions), 0, len(requests)}, nil
}
