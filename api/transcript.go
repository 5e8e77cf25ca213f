package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/schema"
	"harness/session"
	"harness/transcript"
)

var upsertBody = schema.Struct(
	required("messageId", nameField), required("turnId", nameField), required("role", schema.Enum("user", "assistant", "system")),
	required("type", nameField), required("content", schema.Text{}), optional("details", schema.Nullable(schema.Text{})),
	optional("startedAt", schema.Integer().Min(0)), optional("completedAt", schema.Integer().Min(0)),
	required("status", schema.Enum("streaming", "complete", "canceled", "error")))

func (s *server) transcriptRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/api/sessions/:sessionId/transcript/upsert", guards: anySession, lateGuards: true, body: upsertBody, handle: s.upsertTranscript},
	}
}

func entryOf(body schema.Value) transcript.Entry {
	return transcript.Entry{
		MessageID: body.Get("messageId").Text(), TurnID: body.Get("turnId").Text(), Role: body.Get("role").Text(), Type: body.Get("type").Text(),
		Content: body.Get("content").Text(), Details: body.Get("details").TextPointer(), StartedAt: body.Get("startedAt").IntPointer(),
		CompletedAt: body.Get("completedAt").IntPointer(), Status: transcript.Status(body.Get("status").Text()),
	}
}

// upsertTranscript answers with the entry of the request; what it was merged into shows in the session.
func (s *server) upsertTranscript(ctx context.Context, in *input) (reply, error) {
	entry := entryOf(in.body)
	noteTurn(ctx, entry.TurnID)
	err := s.Sessions.UpsertTranscript(ctx, in.sessionID(), entry)
	if errors.Is(err, session.ErrNotFound) {
		// Not stored here: the guards look for it at the runtime, too, and take it in.
		if err := s.checkGuards(ctx, in.guards, in); err != nil {
			return reply{}, err
		}
		err = s.Sessions.UpsertTranscript(ctx, in.sessionID(), entry)
	}
	if err != nil {
		return reply{}, err
	}
	return ok(encoded(plainSeparators(entry.AppendAnswer(make([]byte, 0, entry.Size()), in.sessionID()))))
}
