// Package autodecide answers agents' requests that need no user.
//
// It owns which requests those are, and which answers a runtime accepts. It must never know how an answer is
// delivered.
package autodecide

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Decider decides requests.
type Decider struct {
	Reader   *reading.Reader
	Runtimes *registry.Registry
	entries  transcript.Store
}

// Decide answers the request that was just stored if it needs no user. It approves permitted file changes. In a
// session without a user it declines everything else, so that the agent continues. It never answers a call to a
// client's tool.
func (d *Decider) Decide(ctx context.Context, tx database.Tx, signal runtime.Signal, receivedAt int64, requestID string) (
	[]journal.Event, error) {
	asked, is := signal.Change.(runtime.InteractiveRequested)
	if !is || asked.Kind == runtime.RequestToolCall {
		return nil, nil
	}
	request, err := store.ReadRequest(ctx, tx, requestID, asked.Kind)
	if err != nil || request.Status != session.RequestPending {
		return nil, err
	}
	_, controls, _, err := d.Reader.ControlsIn(ctx, tx, request.SessionID)
	switch {
	case err != nil:
		return nil, err
	case controls.NonInteractive:
		const why = "No person is there to answer in this session. Go on without it."
		return d.autoDecide(ctx, tx, receivedAt, request, session.DecidedByNonInteractive,
			runtime.Reply{Decision: "decline", Message: why}, runtime.Reply{Decision: "decline"}, runtime.Reply{Decision: "cancel"})
	case asked.Kind == runtime.RequestApproval && asked.Asked.Subject == runtime.SubjectFileChange:
		return d.acceptEdit(ctx, tx, signal, receivedAt, request, controls)
	}
	return nil, nil
}

// autoDecide settles a request with the first reply that its runtime accepts, in the transaction that stores the
// request. A server that crashes in between leaves both or neither. deliverLoop delivers it, as it does every decision
// made without a caller on this node. If the runtime accepts none of the replies, a user decides.
func (d *Decider) autoDecide(ctx context.Context, tx database.Tx, receivedAt int64, request store.Request, by string,
	replies ...runtime.Reply) ([]journal.Event, error) {
	request, err := request.WithParams(ctx, tx)
	if err != nil {
		return nil, err
	}
	for len(replies) > 0 && d.CheckReply(request, replies[0]) != nil {
		replies = replies[1:]
	}
	if len(replies) == 0 {
		return nil, nil
	}
	systemOwned, err := store.IsSystemOwned(ctx, tx, request.SessionID)
	if err != nil {
		return nil, err
	}
	request.Status, request.Reply, request.DecidedBy = session.RequestResolved, &replies[0], by
	request.SettledAt = max(receivedAt, request.CreatedAt)
	won, err := store.SettleRequest(ctx, tx, request)
	if err == nil && !won {
		err = errors.New("a pending request changed inside the journal's transaction")
	}
	if err != nil {
		return nil, err
	}
	if _, _, err := d.entries.Upsert(ctx, tx, request.SessionID, entryof.Resolution(request.Request)); err != nil {
		return nil, err
	}
	return []journal.Event{entryof.Resolved(request.Request, systemOwned, by)}, nil
}

// CheckReply refuses a reply that the asking runtime would not accept. It accepts every reply if this server does not
// have the runtime.
func (d *Decider) CheckReply(request store.Request, reply runtime.Reply) error {
	if request.Runtime == session.EventSource {
		return CheckOwnReply(reply)
	}
	if adapter, err := d.Runtimes.Adapter(request.Runtime); err == nil {
		return adapter.Threads().CheckReply(request.Ref(), reply)
	}
	return nil
}

// CheckOwnReply refuses decisions that do not apply to a call to one of this server's tools.
func CheckOwnReply(reply runtime.Reply) error {
	switch reply.Decision {
	case "accept", "decline", "cancel":
	default:
		return &runtime.ReplyError{Field: "decision",
			Message: fmt.Sprintf("%q is unknown; accept, decline and cancel are allowed", reply.Decision)}
	}
	switch {
	case reply.Scope == "session":
		return &runtime.ReplyError{Field: "scope",
			Message: "a tool of this server is allowed for one call; the scope has to be turn"}
	case len(reply.Choice) > 0 || reply.Option != "":
		return &runtime.ReplyError{Field: "choice", Message: "this request is decided with decision"}
	case len(reply.UpdatedInput) > 0 || len(reply.Remember) > 0:
		return &runtime.ReplyError{Field: "updatedInput", Message: "a call is approved as it was made"}
	}
	return nil
}
