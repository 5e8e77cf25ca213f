package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"harness/api/schema"
	"harness/session"
	"harness/transcript"
)

// maxUpserts is the most entries of one request.
const maxUpserts = 1000

var (
	upsertBody = schema.Struct(
		required("messageId", keyField), required("turnId", keyField), required("role", schema.Enum("user", "assistant", "system")),
		required("type", nameField), required("content", schema.Text{}), optional("details", schema.Nullable(schema.Text{})),
		optional("startedAt", schema.Integer().Min(0)), optional("completedAt", schema.Integer().Min(0)),
		required("status", schema.Enum("streaming", "complete", "canceled", "error")))
	upsertsBody = schema.Struct(required("entries", schema.ListOf(upsertBody).Min(1).Max(maxUpserts)))
)

func (s *server) transcriptRoutes() []route {
	const base = "/api/sessions/:sessionId/transcript"
	return []route{
		{method: http.MethodPost, path: base + "/upsert", agent: agentSession, guards: anySession, lateGuards: true, body: upsertBody, handle: s.upsertTranscript},
		{method: http.MethodPost, path: base + "/upserts", agent: agentSession, guards: anySession, lateGuards: true, body: upsertsBody, handle: s.upsertTranscripts},
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
	stored, err := s.upsert(ctx, in, []schema.Value{in.body})
	if err != nil {
		return reply{}, err
	}
	return upserted(transcript.AppendAnswer(make([]byte, 0, sizeOf(stored)), in.sessionID(), stored[0]))
}

// upsertTranscripts is many of upsertTranscript at once: all of them are stored, or none.
func (s *server) upsertTranscripts(ctx context.Context, in *input) (reply, error) {
	stored, err := s.upsert(ctx, in, in.body.Get("entries").Items())
	if err != nil {
		return reply{}, err
	}
	return upserted(transcript.AppendAnswers(make([]byte, 0, sizeOf(stored)), in.sessionID(), stored))
}

func upserted(answer []byte) (reply, error) { return ok(encoded(plainSeparators(answer))) }

// sizeOf is about how long an answer with these entries is.
func sizeOf(entries []json.RawMessage) int {
	size := 256
	for _, entry := range entries {
		size += len(entry) + 1
	}
	return size
}

func (s *server) upsert(ctx context.Context, in *input, bodies []schema.Value) ([]json.RawMessage, error) {
	entries := make([]transcript.Entry, len(bodies))
	for i, body := range bodies {
		entries[i] = entryOf(body)
	}
	noteTurn(ctx, commonTurn(entries))
	stored, err := s.Sessions.UpsertTranscripts(ctx, in.sessionID(), entries)
	if errors.Is(err, session.ErrNotFound) {
		// Not stored here: the guards look for it at the runtime, too, and take it in.
		if err := s.checkGuards(ctx, in.guards, in); err != nil {
			return nil, err
		}
		stored, err = s.Sessions.UpsertTranscripts(ctx, in.sessionID(), entries)
	}
	return stored, err
}

// commonTurn is the turn of all entries, "" when they have several.
func commonTurn(entries []transcript.Entry) string {
	turn := entries[0].TurnID
	for i := range entries {
		if entries[i].TurnID != turn {
			return ""
		}
	}
	return turn
}
