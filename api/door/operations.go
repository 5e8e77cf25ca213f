package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Operations are the operations for the doors of any node. What needs the node of a session, that node carries out.
type Operations struct {
	*operations.Service
	owners Owners
	agents Turns
}

// NewOperations creates Operations. Without owners, the node of a session is named in the error. turns is nil unless
// agents write to other sessions; then agents of other nodes may, too.
func NewOperations(service *operations.Service, owners Owners, turns Turns) *Operations {
	return &Operations{service, owners, turns}
}

// Note is an event that is stored with the turn of a message.
type Note struct {
	Type    string
	Payload json.RawMessage
}

// Create is operations.Opener.Create.
func (o *Operations) Create(ctx context.Context, in session.Create) (session.Session, error) {
	return do[session.Session](ctx, o, request{Name: nameCreate, Create: in})
}

// Fork is operations.Threads.Fork, without the runtime's description.
func (o *Operations) Fork(ctx context.Context, sessionID string) (session.Session, error) {
	return do[session.Session](ctx, o, request{Name: operations.Fork, Session: sessionID})
}

// Send is operations.Turns.Send. A note may be nil.
func (o *Operations) Send(ctx context.Context, sessionID string, message session.Message, note *Note) (session.Sent, error) {
	return do[session.Sent](ctx, o, request{Name: operations.Send, Session: sessionID, Message: message, Key: message.Key, Note: note})
}

// Interrupt is operations.Turns.Interrupt.
func (o *Operations) Interrupt(ctx context.Context, sessionID, turnID string) (interrupted string, err error) {
	interrupted, err = do[string](ctx, o, request{Name: operations.Interrupt, Session: sessionID, Subject: turnID})
	if isAgent(ctx) { // the node of a session asks no third one for an agent
		err = errors.Join(err, o.InterruptBelow(ctx, sessionID))
	}
	return interrupted, err
}

// Enqueue is operations.Queue.Enqueue, without the queue.
func (o *Operations) Enqueue(ctx context.Context, sessionID string, message session.Message) (id string, err error) {
	return do[string](ctx, o, request{Name: nameEnqueue, Session: sessionID, Message: message, Key: message.Key})
}

// DropQueued is operations.Queue.DropQueued.
func (o *Operations) DropQueued(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error) {
	return do[[]session.QueuedMessage](ctx, o, request{Name: nameDropQueued, Session: sessionID, Subject: id})
}

// Compact is operations.Threads.Compact.
func (o *Operations) Compact(ctx context.Context, sessionID string) (json.RawMessage, error) {
	return do[json.RawMessage](ctx, o, request{Name: operations.Compact, Session: sessionID})
}

// Review is operations.Threads.Review.
func (o *Operations) Review(ctx context.Context, sessionID string, in operations.ReviewRequest) (json.RawMessage, error) {
	return do[json.RawMessage](ctx, o, request{Name: operations.Review, Session: sessionID, Review: in})
}

// Rename is operations.Editor.Rename.
func (o *Operations) Rename(ctx context.Context, sessionID, title string) (session.Session, error) {
	return do[session.Session](ctx, o, request{Name: operations.Rename, Session: sessionID, Subject: title})
}

// Archive is operations.Editor.Archive.
func (o *Operations) Archive(ctx context.Context, sessionID string) (session.Session, error) {
	return do[session.Session](ctx, o, request{Name: operations.Archive, Session: sessionID})
}

// Unarchive is operations.Editor.Unarchive.
func (o *Operations) Unarchive(ctx context.Context, sessionID string) (session.Session, error) {
	return do[session.Session](ctx, o, request{Name: operations.Unarchive, Session: sessionID})
}

// Delete is operations.Editor.Delete.
func (o *Operations) Delete(ctx context.Context, sessionID string) (session.Deleted, error) {
	return do[session.Deleted](ctx, o, request{Name: operations.Delete, Session: sessionID})
}

// Models is operations.RuntimeAdmin.Models. A node without agents asks one that has them.
func (o *Operations) Models(ctx context.Context, name string) ([]runtime.Model, error) {
	return do[[]runtime.Model](ctx, o, request{Name: nameModels, Subject: name})
}

// Names of operations that are not about a session as a whole.
const (
	nameCreate     operations.Operation = "create"
	nameModels     operations.Operation = "models"
	nameDropQueued operations.Operation = "drop queued"
	nameEnqueue    operations.Operation = "enqueue"
)

// request is an operation with its parameters, as nodes send it to each other.
type request struct {
	Name    operations.Operation
	Session string                   `json:",omitempty"`
	Subject string                   `json:",omitempty"` // the turn, queued message, title or runtime
	Create  session.Create           `json:",omitzero"`
	Message session.Message          `json:",omitzero"`
	Key     string                   `json:",omitempty"` // of the message, which does not encode it
	Note    *Note                    `json:",omitempty"`
	Review  operations.ReviewRequest `json:",omitzero"`
	Mail    operations.Mail          `json:",omitzero"` // of the agent's session
}

// do carries out an operation here, or at the node that can.
func do[Result any](ctx context.Context, o *Operations, in request) (result Result, err error) {
	done, err := carryOut(ctx, o.Service, in)
	if err == nil {
		return done.(Result), nil
	}
	return ask[Result](ctx, o, err, in)
}

// Elsewhere is operations.Options.Elsewhere; for turns see NewOperations. Each request goes from a session to one below
// it, so a chain of them ends. For an agent of another node, that node asks.
func Elsewhere(owners Owners, turns Turns) func(ctx context.Context, refused error, in operations.Errand) error {
	others := NewOperations(nil, owners, turns)
	return func(ctx context.Context, refused error, in operations.Errand) error {
		if from, came := forward.CameFrom(ctx); came && from.Agent != nil {
			if in.Operation == operations.Interrupt {
				return nil
			}
			return refused
		}
		_, err := ask[json.RawMessage](forward.Anew(ctx), others, refused, request{Name: in.Operation, Session: in.SessionID, Mail: in.Mail})
		return err
	}
}

// ask carries out an operation at the node that err names, or returns err.
func ask[Result any](ctx context.Context, o *Operations, err error, in request) (result Result, _ error) {
	var answer struct {
		Result json.RawMessage
		Failed *operations.RemoteError
	}
	asking, unread := o.withAgent(ctx)
	if unread != nil {
		return result, unread
	}
	switch asked, failed := o.Ask(asking, err, OperationsPath, in, &answer); {
	case !asked:
		return result, err
	case failed != nil:
		return result, failed
	case answer.Failed != nil:
		return result, answer.Failed
	}
	return result, json.Unmarshal(answer.Result, &result)
}

// carryOut carries out an operation at this node.
func carryOut(ctx context.Context, ops *operations.Service, in request) (any, error) {
	switch in.Name {
	case nameCreate:
		in.Create.DynamicTools = given(in.Create.DynamicTools)
		return ops.Create(ctx, in.Create)
	case nameModels:
		if err := ops.CheckRuns(); err != nil {
			return nil, err
		}
		return ops.Models(ctx, in.Subject)
	case nameEnqueue:
		id, _, err := ops.Enqueue(ctx, in.Session, in.message())
		return id, err
	case nameDropQueued:
		return ops.DropQueued(ctx, in.Session, in.Subject)
	case operations.Send:
		return ops.Send(ctx, in.Session, in.message())
	case operations.Interrupt:
		return ops.Interrupt(ctx, in.Session, in.Subject)
	case operations.Fork:
		forked, err := ops.Fork(ctx, in.Session)
		return forked.Session, err
	case operations.Compact:
		return ops.Compact(ctx, in.Session)
	case operations.Review:
		return ops.Review(ctx, in.Session, in.Review)
	case operations.Rename:
		return ops.Rename(ctx, in.Session, in.Subject)
	case operations.Archive:
		return ops.Archive(ctx, in.Session)
	case operations.Unarchive:
		return ops.Unarchive(ctx, in.Session)
	case operations.Delete:
		return ops.Delete(ctx, in.Session)
	case operations.Deliver:
		principal, _ := auth.PrincipalFrom(ctx)
		return ops.SendMail(ctx, principal.Session, in.Mail)
	}
	return nil, fmt.Errorf("%s: %w", in.Name, runtime.ErrUnsupported)
}

// message returns the message to send.
func (in request) message() session.Message {
	out := in.Message
	out.Key = in.Key
	out.DynamicTools, out.CollaborationMode = given(out.DynamicTools), given(out.CollaborationMode)
	if in.Note != nil {
		out.Accepted = func(_ context.Context, _ database.Tx, turnID string) ([]journal.Event, error) {
			return []journal.Event{{SessionID: in.Session, TurnID: turnID, Type: in.Note.Type, Source: session.EventSource,
				Payload: in.Note.Payload}}, nil
		}
	}
	return out
}

// given returns a member that was not null: a member that is nil comes as null.
func given(member json.RawMessage) json.RawMessage {
	if string(member) == "null" {
		return nil
	}
	return member
}
