package acp

import (
	"context"
	"encoding/json"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// otherAnswer is the field for an answer beyond a question's options.
const otherAnswer = "_other"

// question asks a client for input that shows forms. Any other client learns where it is answered. It requires f.mu.
func (f *follow) question(row session.Request) {
	message, schema := row.Summary, wire.Members(row.Params, "requestedSchema")[0]
	if row.Method == wire.MethodElicit {
		message = wire.Text(wire.Members(row.Params, "message")[0])
	} else {
		schema = formOf(questionsOf(row))
	}
	if client := f.peer.client.Load(); client == nil || !client.forms || len(schema) == 0 {
		if !f.pointed[row.ID] {
			f.pointed[row.ID] = true
			f.send(object{"sessionUpdate": "agent_message_chunk", "content": textBlock(
				"\n\n" + message + "\n\nThis client cannot show the question; answer it in the console, or with: harness approvals\n\n")})
		}
		return
	}
	f.asked[row.ID] = &asked{row: row}
	f.peer.out.Put(form.Request(row.ID, words.Elicit, object{"sessionId": f.id, "mode": "form",
		"message": message, "requestedSchema": schema}))
}

func questionsOf(row session.Request) (all []wire.Question) {
	raw := row.Questions
	if raw == nil {
		raw = wire.Members(row.Params, "questions")[0]
	}
	_ = json.Unmarshal(raw, &all) // an unreadable list has no questions
	return all
}

// formOf returns questions as the schema of a form.
func formOf(questions []wire.Question) json.RawMessage {
	properties, required := jsonobject.Object{}, []string{}
	for _, q := range questions {
		field := object{"type": "string", "title": q.Header, "description": q.Question}
		var choices []object
		for _, one := range q.Options {
			choices = append(choices, object{"const": one.Label, "title": one.Label})
		}
		switch {
		case len(choices) > 0 && q.Multiple:
			field["type"], field["items"] = "array", object{"anyOf": choices}
		case len(choices) > 0:
			field["oneOf"] = choices
		}
		properties = properties.Set(q.ID, javascript.MustEncode(field))
		switch {
		case len(choices) > 0 && q.IsOther:
			properties = properties.Set(q.ID+otherAnswer, javascript.MustEncode(object{"type": "string", "title": "Other",
				"description": "Another answer to: " + q.Question}))
		case !q.Optional:
			required = append(required, q.ID)
		}
	}
	return javascript.MustEncode(object{"type": "object", "properties": properties.Encode(), "required": required})
}

// answerQuestion settles a request for input with a form.
func (f *follow) answerQuestion(ctx context.Context, r *asked, result json.RawMessage) error {
	given := wire.Members(result, "action", "content")
	in := operations.ToolInputDecision{Decision: wire.Text(given[0])}
	if !slices.Contains([]string{"accept", "decline", "cancel"}, in.Decision) {
		return errNoDecision
	}
	switch {
	case in.Decision != "accept":
	case r.row.Method == wire.MethodElicit:
		in.Response = result
	default:
		in.Answers = answersOf(questionsOf(r.row), given[1])
	}
	_, err := f.peer.ops().DecideToolInput(ctx, r.row.ID, in, f.peer.Actor())
	return err
}

// answersOf reads the content of a form as answers to questions.
func answersOf(questions []wire.Question, content json.RawMessage) json.RawMessage {
	answers := map[string]object{}
	for _, q := range questions {
		given := wire.Members(content, q.ID, q.ID+otherAnswer)
		texts := []string{}
		if text := wire.Text(given[0]); text != "" {
			texts = append(texts, text)
		}
		for one := range wire.Elements(given[0]) {
			texts = append(texts, wire.Text(one))
		}
		if other := wire.Text(given[1]); other != "" && q.IsOther {
			if !q.Multiple {
				texts = nil
			}
			texts = append(texts, other)
		}
		if len(texts) > 0 {
			answers[q.ID] = object{"answers": texts}
		}
	}
	return javascript.MustEncode(answers)
}
