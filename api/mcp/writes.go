package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"harness/api/idempotency"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

type startInput struct {
	Key      key    `json:"key" jsonschema:"chosen by you: the same key starts one session, also when the call is repeated"`
	Runtime  string `json:"runtime,omitempty"`
	Model    string `json:"model,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
	Project  string `json:"project,omitempty"`
	Message  text   `json:"message,omitempty"`
	Sandbox  string `json:"sandbox,omitempty" jsonschema:"read-only, workspace-write or danger-full-access, as the runtime enforces"`
	Approval string `json:"approval,omitempty" jsonschema:"untrusted, on-request or never, as the runtime enforces"`
	Network  string `json:"network,omitempty"`
	Title    string `json:"title,omitempty"`
}

func given(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

func startSession(ctx context.Context, k *call, in startInput) (any, error) {
	if k.agent() != "" {
		return k.startChild(ctx, in)
	}
	return k.once(ctx, in.Key, false, in, func(ctx context.Context, name string) (any, error) {
		made, err := k.ops().Create(ctx, session.Create{Runtime: in.Runtime, Model: given(in.Model), Cwd: in.Cwd, ProjectID: in.Project,
			FilesystemSandbox: given(in.Sandbox), ApprovalPolicy: given(in.Approval), NetworkAccess: given(in.Network)})
		if err != nil {
			return nil, err
		}
		k.session = made.ID
		answer := object{"session": made.ID}
		if in.Title != "" {
			if _, err := k.ops().Rename(ctx, made.ID, in.Title); err != nil {
				answer["warning"] = operations.Classify(err).Message
			}
		}
		if in.Message != "" {
			sent, err := k.ops().Send(ctx, made.ID, session.Message{Text: string(in.Message), Key: name}, nil)
			if answer["turn"] = sent.TurnID; err != nil { // the session is there, so this is its answer
				answer["warning"] = operations.Classify(err).Message
			}
		}
		return answer, nil
	})
}

type messageInput struct {
	Key     key    `json:"key" jsonschema:"chosen by you: the same key sends one message, also when the call is repeated"`
	Session string `json:"session"`
	Text    text   `json:"text"`
	When    when   `json:"when,omitempty"`
	ReplyTo string `json:"reply_to,omitempty" jsonschema:"the message that this one answers; for agents"`
}

func sendMessage(ctx context.Context, k *call, in messageInput) (any, error) {
	if k.session = in.Session; k.agent() != "" {
		return k.mail(ctx, in)
	}
	if err := k.ops().Check(ctx, operations.Read, in.Session); err != nil {
		return nil, err
	}
	return k.once(ctx, in.Key, true, in, func(ctx context.Context, name string) (any, error) {
		id, err := k.ops().TurnForKey(ctx, in.Session, name)
		if errors.Is(err, session.ErrTurnUnknown) {
			err = errors.Join(idempotency.ErrLost, err)
		}
		if err != nil {
			return nil, err
		}
		message := session.Message{Text: string(in.Text), Key: name}
		sent := session.Sent{TurnID: id}
		switch {
		case id != "":
			queue, err := k.ops().Queued(ctx, in.Session)
			if err != nil {
				return nil, err
			}
			if session.PositionOf(queue, id) > 0 {
				sent = session.Sent{QueuedID: id}
			}
		case in.When == "after_turn":
			sent.QueuedID, err = k.ops().Enqueue(ctx, in.Session, message)
		default:
			sent, err = k.ops().Send(ctx, in.Session, message, nil)
		}
		if err != nil {
			return nil, err
		}
		if sent.QueuedID != "" {
			return object{"message": sent.QueuedID, "state": "queued"}, nil
		}
		return object{"message": name, "state": "delivered", "turn": sent.TurnID}, nil
	})
}

type sessionInput struct {
	Session string `json:"session"`
}

func interrupt(ctx context.Context, k *call, in sessionInput) (any, error) {
	if err := k.own(ctx, in.Session); err != nil {
		return nil, err
	}
	turn, err := k.ops().Interrupt(ctx, in.Session, "")
	return object{"turn": turn}, err
}

func archive(ctx context.Context, k *call, in sessionInput) (any, error) {
	if err := k.own(ctx, in.Session); err != nil {
		return nil, err
	}
	_, err := k.ops().Archive(ctx, in.Session)
	return object{}, err
}

type renameInput struct {
	Session string `json:"session"`
	Title   string `json:"title"`
}

func rename(ctx context.Context, k *call, in renameInput) (any, error) {
	if err := k.own(ctx, in.Session); err != nil {
		return nil, err
	}
	_, err := k.ops().Rename(ctx, in.Session, in.Title)
	return object{}, err
}

type decideInput struct {
	Request  string         `json:"request"`
	Decision decision       `json:"decision"`
	Scope    scope          `json:"scope,omitempty"`
	Option   string         `json:"option,omitempty" jsonschema:"an option of the request, without option:"`
	Message  string         `json:"message,omitempty" jsonschema:"the reason"`
	Answers  map[string]any `json:"answers,omitempty" jsonschema:"answers by question, for a request of the kind tool_input"`
}

// decide settles a request. Of several who decide one wins; the others learn how it was settled.
func decide(ctx context.Context, k *call, in decideInput) (any, error) {
	kind := runtime.RequestApproval
	about, err := k.ops().SessionOfRequest(ctx, in.Request, kind)
	if errors.Is(err, session.ErrRequestNotFound) {
		kind = runtime.RequestToolInput
		about, err = k.ops().SessionOfRequest(ctx, in.Request, kind)
	}
	if err != nil {
		return nil, err
	}
	k.session = about
	var settled session.Request
	if kind == runtime.RequestApproval {
		settled, err = k.ops().DecideApproval(ctx, in.Request, operations.ApprovalDecision{Decision: string(in.Decision),
			Scope: string(in.Scope), Option: in.Option, Message: in.Message}, k.Actor())
	} else {
		input := operations.ToolInputDecision{Decision: string(in.Decision), Message: in.Message}
		if in.Answers != nil {
			if input.Answers, err = json.Marshal(in.Answers); err != nil {
				return nil, err
			}
		}
		settled, err = k.ops().DecideToolInput(ctx, in.Request, input, k.Actor())
	}
	var late *session.SettledError
	if errors.As(err, &late) {
		return settledView(late.Request, false), nil
	}
	return settledView(settled, true), err
}

func settledView(r session.Request, own bool) object {
	view := object{"id": r.ID, "session": r.SessionID, "status": r.Status, "decided_by": r.DecidedBy, "by_this_call": own}
	if r.Reply != nil {
		view["decision"] = r.Reply.Decision
	}
	return view
}
