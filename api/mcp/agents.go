package mcp

import (
	"context"
	"net/http"
	"slices"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// agent returns the session whose agent calls, "" for a person.
func (c *caller) agent() string {
	if c.Principal.Role == auth.RoleAgent {
		return c.Principal.Session
	}
	return ""
}

// has reports whether the caller has a tool. An agent never has one that is for people.
func (c *caller) has(one *tool) bool {
	if c.Principal.Role != auth.RoleAgent {
		return c.MayCall(one.role)
	}
	return one.agents && (one.role == door.RoleViewer || c.server.opts.AgentsWrite)
}

// checkAgent checks that the caller is a person, or the agent of a session of this node.
func (k *call) checkAgent(ctx context.Context) error {
	if k.Principal.Role != auth.RoleAgent {
		return nil
	}
	if k.agent() == "" { // its conversation has no id yet
		return session.ErrNotFound
	}
	return k.ops().Check(ctx, operations.Rename, k.agent())
}

// own checks that the caller may reach a session: other sessions than its own and those below do not exist for an agent.
func (k *call) own(ctx context.Context, sessionID string) error {
	k.session = sessionID
	if agent := k.agent(); agent != "" {
		return k.ops().CheckOwn(ctx, agent, sessionID)
	}
	return nil
}

// family lists the session of an agent and those below it.
func (k *call) family(ctx context.Context, in listInput) (any, error) {
	below, err := k.ops().Descendants(ctx, k.agent())
	if err != nil {
		return nil, err
	}
	views := []sessionView{}
	for _, one := range slices.Concat([]session.Lineage{{SessionID: k.agent()}}, below) {
		read, _, err := k.ops().Read(ctx, one.SessionID, operations.Reading{Limit: 1, OmitDetails: true})
		if code := operations.Classify(err).Code; err != nil && code != operations.CodeSessionDeleted &&
			code != operations.CodeSessionNotFound {
			return nil, err
		}
		if s := read.Session; err == nil && (in.State == "" || in.State == string(s.Activity.State)) &&
			(in.Runtime == "" || in.Runtime == s.Runtime) {
			views = append(views, viewOf(s, one.ParentID))
		}
	}
	return object{"sessions": views, "next_cursor": ""}, nil
}

// startChild starts a session below the agent's, with its rights at most.
func (k *call) startChild(ctx context.Context, in startInput) (any, error) {
	made, err := k.ops().StartChild(ctx, k.agent(), operations.ChildStart{Key: string(in.Key), Runtime: in.Runtime, Cwd: in.Cwd,
		Title: in.Title, Message: string(in.Message), Model: given(in.Model), FilesystemSandbox: given(in.Sandbox),
		NetworkAccess: given(in.Network), ApprovalPolicy: given(in.Approval)})
	k.session = made.ID
	return object{"session": made.ID}, err
}

// mail queues a message of the agent's session. With now, it does not wait for the end of the running turn.
func (k *call) mail(ctx context.Context, in messageInput) (any, error) {
	sent, err := k.ops().SendMail(ctx, k.agent(), operations.Mail{Key: string(in.Key), To: in.Session, Text: string(in.Text),
		ReplyTo: in.ReplyTo, Now: in.When == "now"})
	return receiptOf(sent), err
}

type receiptsInput struct {
	Message string `json:"message,omitempty"`
	Session string `json:"session,omitempty" jsonschema:"the other session; a person names the one whose messages these are"`
	Limit   limit  `json:"limit,omitempty"`
}

type receiptView struct {
	Message string `json:"message"`
	From    string `json:"from"`
	To      string `json:"to"`
	State   string `json:"state"`
	Turn    string `json:"turn,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"`
	Error   string `json:"error,omitempty"`
	At      string `json:"at"`
}

func receiptOf(r session.Receipt) receiptView {
	return receiptView{r.ID, r.From, r.To, string(r.State), r.TurnID, r.ReplyTo, r.Error, instant(r.At)}
}

func receipts(ctx context.Context, k *call, in receiptsInput) (any, error) {
	of, other := k.agent(), in.Session
	if of == "" {
		of, other = in.Session, ""
	}
	sent, err := k.ops().Receipts(ctx, session.ReceiptQuery{ID: in.Message, From: of, To: other})
	if err != nil {
		return nil, err
	}
	received, err := k.ops().Receipts(ctx, session.ReceiptQuery{ID: in.Message, From: other, To: of})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(sent, received)
	slices.SortStableFunc(all, func(a, b session.Receipt) int { return int(b.At - a.At) })
	views := []receiptView{}
	for _, one := range all[:min(len(all), in.Limit.or())] {
		views = append(views, receiptOf(one))
	}
	return object{"messages": views}, nil
}

// mailed reports whether the newest message of the agent to a session is answered, or one for the agent itself is queued.
func (k *call) mailed(ctx context.Context, sessionID string) (bool, error) {
	agent := k.agent()
	if agent == "" {
		return false, refuse(http.StatusBadRequest, string(operations.CodeInvalid), "mail is between sessions; wait for idle")
	}
	query := session.ReceiptQuery{From: agent, To: sessionID}
	if sessionID == agent {
		query.From = ""
	}
	found, err := k.ops().Receipts(ctx, query)
	if sessionID == agent {
		return slices.ContainsFunc(found, func(r session.Receipt) bool { return r.State == session.MailQueued }), err
	}
	return len(found) > 0 && found[0].State != session.MailQueued && found[0].State != session.MailDelivered, err
}
