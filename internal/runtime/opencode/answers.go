package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// unexplained is the reason of a refusal without one: otherwise OpenCode stops the turn, as for cancel.
const unexplained = "The person declined this. Go on without it."

// CheckReply implements runtime.Threads.
func (o *OpenCode) CheckReply(ref runtime.RequestRef, reply runtime.Reply) error {
	_, err := steps(ref, reply, "")
	return err
}

// steps returns the requests that settle a request; parent is the conversation with the turn. It returns
// *runtime.ReplyError for an unsupported reply.
func steps(ref runtime.RequestRef, reply runtime.Reply, parent string) ([]bridge.Step, error) {
	for field, given := range map[string]bool{"choice": len(reply.Choice) > 0, "option": reply.Option != "",
		"response":     len(reply.Raw) > 0,
		"updatedInput": len(reply.UpdatedInput) > 0, "remember": len(reply.Remember) > 0} {
		if given {
			return nil, &runtime.ReplyError{Field: field, Message: "opencode has no place for it"}
		}
	}
	var id string
	var with askedContext
	if err := errors.Join(json.Unmarshal(ref.RequestID, &id), json.Unmarshal(ref.Asked.Context, &with)); err != nil {
		return nil, fmt.Errorf("read what a request of opencode was asked with: %w", err)
	}
	decision := reply.Decision
	if reply.Refusal != "" {
		decision, reply.Message = "decline", reply.Refusal
	}
	if decision == "cancel" {
		return abort(parent, with.Folder), nil
	}
	post := func(path string, body any) bridge.Step {
		return bridge.Step{Do: http.MethodPost, Path: path, Directory: with.Folder, Body: encoded(body)}
	}
	if ref.Kind == runtime.RequestToolInput {
		path := "/question/" + url.PathEscape(id)
		switch decision {
		case "decline":
			return []bridge.Step{post(path+"/reject", struct{}{})}, nil
		case "", "accept":
			answers, err := answersOf(reply.Answers, with.Questions)
			return []bridge.Step{post(path+"/reply", map[string]any{"answers": answers})}, err
		}
		return nil, &runtime.ReplyError{Field: "decision", Message: "accept, decline or cancel"}
	}
	path := "/permission/" + url.PathEscape(id) + "/reply"
	switch {
	case decision == "decline":
		why := reply.Message
		if why == "" {
			why = unexplained
		}
		return []bridge.Step{post(path, map[string]string{"reply": "reject", "message": why})}, nil
	case decision != "accept":
		return nil, &runtime.ReplyError{Field: "decision", Message: "accept, decline or cancel"}
	case reply.Scope != "" && reply.Scope != "turn" && reply.Scope != "session":
		return nil, &runtime.ReplyError{Field: "scope", Message: "turn or session"}
	}
	out := []bridge.Step{post(path, map[string]string{"reply": "once"})}
	if reply.Scope == "session" {
		out = append(out, remember(with))
	}
	return out, nil
}

// remember allows the requested use in this conversation. OpenCode's own "always" would allow it in every conversation
// of the folder.
func remember(with askedContext) bridge.Step {
	rules := []rule{}
	for _, pattern := range with.Always {
		rules = append(rules, rule{with.Permission, pattern, allow})
	}
	return bridge.Step{Do: http.MethodPatch, Path: pathOf(with.Session, ""), Directory: with.Folder,
		Body: encoded(map[string]any{"permission": rules})}
}

// answersOf returns a user's answers in the order of the questions.
func answersOf(raw json.RawMessage, count int) ([][]string, error) {
	var given map[string]struct {
		Answers []string `json:"answers"`
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, &runtime.ReplyError{Field: "answers", Message: `an object such as {"q1":{"answers":["..."]}} is needed`}
	}
	out := make([][]string, count)
	for i := range out {
		out[i] = append([]string{}, given[questionID(i)].Answers...)
		delete(given, questionID(i))
	}
	for name := range given {
		return nil, &runtime.ReplyError{Field: "answers", Message: fmt.Sprintf("there is no question %q; they are q1 to q%d",
			name, count)}
	}
	return out, nil
}

// Answer implements runtime.Threads.
func (o *OpenCode) Answer(ctx context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	c, done, err := o.process.Use(ctx) // a takeover may be in progress
	if err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	defer done()
	if c.Generation() != ref.Generation {
		return runtime.ErrRequestGone
	}
	doing, err := steps(ref, reply, o.native(ref.ThreadID))
	if err != nil {
		return err
	}
	var id string
	_ = json.Unmarshal(ref.RequestID, &id) // read before
	line, err := frame(bridge.Command{Steps: doing, Session: o.native(ref.ThreadID), Request: id, Turn: ref.TurnID})
	if err != nil {
		return fmt.Errorf("word an answer for opencode: %w", err)
	}
	if !c.Claim(ref.RequestID) {
		return runtime.ErrRequestGone
	}
	if err := c.SendOnce(context.WithoutCancel(ctx), ref.RequestID, line); err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	return nil
}
