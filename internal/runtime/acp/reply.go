package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/internal/runtime"
	"harness/internal/runtime/form"
)

// Decisions.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// CheckReply implements runtime.Threads.
func (r *Runtime) CheckReply(ref runtime.RequestRef, reply runtime.Reply) error {
	_, err := r.result(ref, reply)
	return err
}

// result returns the answer to a request.
func (r *Runtime) result(ref runtime.RequestRef, reply runtime.Reply) (json.RawMessage, error) {
	for field, given := range map[string]bool{"choice": len(reply.Choice) > 0, "response": len(reply.Raw) > 0,
		"updatedInput": len(reply.UpdatedInput) > 0, "remember": len(reply.Remember) > 0} {
		if given {
			return nil, &runtime.ReplyError{Field: field, Message: "agents of this protocol have no place for it"}
		}
	}
	if reply.Refusal != "" {
		reply = runtime.Reply{Decision: actionCancel}
	}
	if reply.Decision == "" && ref.Kind == runtime.RequestToolInput && len(reply.Answers) > 0 {
		reply.Decision = actionAccept
	}
	if !slices.Contains([]string{actionAccept, actionDecline, actionCancel}, reply.Decision) {
		return nil, &runtime.ReplyError{Field: "decision",
			Message: fmt.Sprintf("%q is unknown; accept, decline and cancel are allowed", reply.Decision)}
	}
	if ref.Kind == runtime.RequestToolInput {
		return filledIn(ref, reply)
	}
	id, err := chosen(ref.Asked, reply)
	switch {
	case err != nil:
		return nil, err
	case id == "":
		return cancelled(), nil
	}
	return json.Marshal(selected(id))
}

// selected returns the answer that selects an option.
func selected(id string) map[string]any {
	return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": id}}
}

// chosen returns the option of a reply, "" for no selection.
func chosen(asked runtime.Asked, reply runtime.Reply) (id string, err error) {
	if reply.Option != "" {
		option, err := asked.Chosen(reply)
		return option.ID, err
	}
	if reply.Decision == actionCancel {
		return "", nil
	}
	find := func(scope string) (string, bool) {
		i := slices.IndexFunc(asked.Options, func(o runtime.Option) bool {
			return o.Decision == reply.Decision && o.Scope == scope
		})
		if i < 0 {
			return "", false
		}
		return asked.Options[i].ID, true
	}
	if reply.Scope == "session" && reply.Decision == actionAccept {
		if id, ok := find("session"); ok {
			return id, nil
		}
	}
	if id, ok := find("turn"); ok { // without an option for the session, allow it once
		return id, nil
	}
	if reply.Decision == actionAccept {
		return "", &runtime.ReplyError{Field: "scope", Message: "the agent does not offer to allow this once; it offers " +
			asked.OptionIDs()}
	}
	return "", nil // no selection declines it
}

// filledIn returns the answer to a form.
func filledIn(ref runtime.RequestRef, reply runtime.Reply) (json.RawMessage, error) {
	if reply.Option != "" {
		return nil, &runtime.ReplyError{Field: "option", Message: "a form is answered with answers"}
	}
	if reply.Decision != actionAccept {
		return json.Marshal(map[string]string{"action": reply.Decision})
	}
	asked := form.Of(ref.Asked.Context)
	content, err := asked.Fill(reply.Answers)
	if err != nil {
		return nil, err
	}
	for _, one := range asked.Required {
		if _, has := content[one]; !has {
			return nil, &runtime.ReplyError{Field: "answers", Message: fmt.Sprintf("the form requires %q", one)}
		}
	}
	return json.Marshal(map[string]any{"action": actionAccept, "content": content})
}

// Answer implements runtime.Threads. A cancellation also stops the turn.
func (r *Runtime) Answer(ctx context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	result, err := r.result(ref, reply)
	if err != nil {
		return err
	}
	conn, done, err := r.process.Use(ctx) // a takeover may be in progress
	if err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	defer done()
	if conn.Generation() != ref.Generation || !conn.Claim(ref.RequestID) {
		return runtime.ErrRequestGone
	}
	p := protocolOf(conn)
	// Send the answer even if the caller canceled.
	ctx = context.WithoutCancel(ctx)
	stops := reply.Decision == actionCancel && ref.Kind == runtime.RequestApproval
	if stops {
		err = p.stop(ctx, ref.TurnID, ref.RequestID)
	}
	if !stops || errors.Is(err, runtime.ErrNoActiveTurn) { // it may have ended by now
		err = p.settle(ctx, ref.RequestID, reply.Decision, result)
	}
	if err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	return nil
}
