package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// CheckReply implements runtime.Threads.
func (r *Runtime) CheckReply(ref runtime.RequestRef, reply runtime.Reply) error {
	_, err := worded(ref, reply)
	return err
}

// worded returns a reply in Claude Code's protocol. It returns *runtime.ReplyError when it has no equivalent.
func worded(ref runtime.RequestRef, reply runtime.Reply) (verdict, error) {
	refused := func(field, format string, args ...any) (verdict, error) {
		return verdict{}, &runtime.ReplyError{Field: field, Message: fmt.Sprintf(format, args...)}
	}
	for field, given := range map[string]bool{"choice": len(reply.Choice) > 0, "option": reply.Option != "",
		"response": len(reply.Raw) > 0,
		"remember": len(reply.Remember) > 0} {
		if given {
			return refused(field, "Claude Code has no place for it")
		}
	}
	if reply.Refusal != "" {
		return denied(reply.Refusal, false), nil
	}
	var about question
	if err := json.Unmarshal(ref.Asked.Context, &about); err != nil {
		return verdict{}, fmt.Errorf("read what a request was about: %w", err)
	}
	about.Tool = cmp.Or(about.Tool, about.ToolName)
	switch reply.Decision {
	case "decline":
		return denied(reply.Message, false), nil
	case "cancel":
		return denied(reply.Message, true), nil
	case "accept":
	default:
		return refused("decision", "it has to be accept, decline or cancel")
	}
	out := verdict{Behavior: "allow", Input: about.Input}
	if len(reply.UpdatedInput) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(reply.UpdatedInput, &object) != nil || object == nil {
			return refused("updatedInput", "it has to be an object: the arguments of %s", about.Tool)
		}
		out.Input = reply.UpdatedInput
	}
	if about.Tool == toolQuestion {
		var err error
		out.Input, err = answeredQuestions(out.Input, reply.Answers)
		return out, err
	}
	if reply.Scope == "session" {
		in := readInput(out.Input)
		if ruleOf(about.Tool, in).Tool == "" {
			return refused("scope", "%s can only be allowed once", about.Tool)
		}
		out.Updated = sessionRule(about.Tool, in)
	}
	return out, nil
}

// answeredQuestions returns the arguments of the question tool with the answers, by the questions' texts.
func answeredQuestions(input, answers json.RawMessage) (json.RawMessage, error) {
	var given map[string]struct {
		Answers []string `json:"answers"`
	}
	if len(answers) > 0 && json.Unmarshal(answers, &given) != nil {
		return nil, &runtime.ReplyError{Field: "answers", Message: `it has to be an object like {"q1":{"answers":["..."]}}`}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(input, &members); err != nil {
		return nil, fmt.Errorf("read the questions: %w", err)
	}
	byText := map[string]string{}
	for i, q := range readInput(input).Questions {
		byText[q.Question] = joined(given[questionID(i)].Answers, q.Multiple)
	}
	members["answers"] = encode(byText)
	return encode(members), nil
}

// joined returns several answers as Claude Code's single text, which it splits by its own rule. An answer with the
// separator or a quote becomes a JSON string. The answer to a single choice stays unchanged.
func joined(answers []string, multiple bool) string {
	if len(answers) == 1 && !multiple {
		return answers[0]
	}
	const separator = ", "
	parts := make([]string, len(answers))
	for i, answer := range answers {
		parts[i] = answer
		if strings.Contains(answer, separator) || strings.Contains(answer, `"`) {
			parts[i] = string(encode(answer))
		}
	}
	return strings.Join(parts, separator)
}

// Answer implements runtime.Threads.
func (r *Runtime) Answer(ctx context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	t := r.known(ref.ThreadID)
	if t == nil {
		return runtime.ErrRequestGone
	}
	p := t.process()
	if p == nil {
		return runtime.ErrRequestGone
	}
	line, done, err := p.Use(ctx) // a takeover may be in progress
	if err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	defer done()
	if line.Generation() != ref.Generation {
		return runtime.ErrRequestGone
	}
	given, err := worded(ref, reply)
	if err != nil {
		return err
	}
	var id string
	if err := json.Unmarshal(ref.RequestID, &id); err != nil {
		return fmt.Errorf("read the request's id: %w", err)
	}
	return send(ctx, line, id, given)
}

// send answers a request, only once.
func send(ctx context.Context, line *stdio.Conn, id string, given verdict) error {
	key := encode(id)
	if !line.Claim(key) {
		return runtime.ErrRequestGone
	}
	if err := line.SendOnce(context.WithoutCancel(ctx), key, controlResponse(id, given)); err != nil {
		return runtime.WithKind(runtime.ErrRequestGone, err)
	}
	return nil
}

// refuse answers a request that is no longer open.
func refuse(ctx context.Context, line *stdio.Conn, id string) error {
	return send(ctx, line, id, denied("The user interrupted this.", true))
}
