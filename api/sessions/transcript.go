package sessions

import (
	"context"
	"encoding/json"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/transcript"
)

var (
	upsertBody = schema.Struct(
		rest.Required("messageId", rest.Key), rest.Required("turnId", rest.Key),
		rest.Required("role", schema.Enum("user", "assistant", "system")), rest.Required("type", rest.Name),
		rest.Required("content", schema.Text{}), rest.Optional("details", schema.Nullable(schema.Text{})),
		rest.Optional("startedAt", schema.Integer().Min(0)), rest.Optional("completedAt", schema.Integer().Min(0)),
		rest.Required("status", schema.Enum("streaming", "complete", "canceled", "error")))
	upsertsBody = schema.Struct(rest.Required("entries", schema.ListOf(upsertBody).Min(1).Max(operations.MaxUpserts)))
)

func (s *transcripts) transcriptRoutes() []rest.Route {
	const base = "/api/sessions/:sessionId/transcript"
	return []rest.Route{
		{Method: http.MethodPost, Path: base + "/upsert", Access: rest.AccessTranscript, Agent: rest.AgentSession,
			Operation: operations.Upsert, Body: upsertBody, Handle: s.upsertTranscript},
		{Method: http.MethodPost, Path: base + "/upserts", Access: rest.AccessTranscript, Agent: rest.AgentSession,
			Operation: operations.Upsert, Body: upsertsBody, Handle: s.upsertTranscripts},
	}
}

func entryOf(body schema.Value) transcript.Entry {
	return transcript.Entry{
		MessageID: body.Get("messageId").Text(), TurnID: body.Get("turnId").Text(), Role: body.Get("role").Text(),
		Type: body.Get("type").Text(), Content: body.Get("content").Text(), Details: body.Get("details").TextPointer(),
		StartedAt: body.Get("startedAt").IntPointer(), CompletedAt: body.Get("completedAt").IntPointer(),
		Status: transcript.Status(body.Get("status").Text()),
	}
}

// upsertTranscript returns the entry of the request. The session shows the merged entry.
func (s *transcripts) upsertTranscript(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	stored, err := s.upsert(ctx, in, []schema.Value{in.Body})
	if err != nil {
		return rest.Reply{}, err
	}
	return upserted(transcript.AppendAnswer(make([]byte, 0, sizeOf(stored)), in.SessionID(), stored[0]))
}

// upsertTranscripts stores many entries. It stores all of them or none.
func (s *transcripts) upsertTranscripts(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	stored, err := s.upsert(ctx, in, in.Body.Get("entries").Items())
	if err != nil {
		return rest.Reply{}, err
	}
	return upserted(transcript.AppendAnswers(make([]byte, 0, sizeOf(stored)), in.SessionID(), stored))
}

func upserted(answer []byte) (rest.Reply, error) {
	return rest.OK(rest.Encoded(javascript.PlainSeparators(answer)))
}

// sizeOf estimates the length of a response with these entries.
func sizeOf(entries []json.RawMessage) int {
	size := 256
	for _, entry := range entries {
		size += len(entry) + 1
	}
	return size
}

func (s *transcripts) upsert(ctx context.Context, in *rest.Input, bodies []schema.Value) ([]json.RawMessage, error) {
	entries := make([]transcript.Entry, len(bodies))
	for i, body := range bodies {
		entries[i] = entryOf(body)
	}
	rest.NoteTurn(ctx, commonTurn(entries))
	return s.editor.Upsert(ctx, in.SessionID(), entries)
}

// commonTurn returns the turn that all entries share, "" if they have several.
func commonTurn(entries []transcript.Entry) string {
	turn := entries[0].TurnID
	for i := range entries {
		if entries[i].TurnID != turn {
			return ""
		}
	}
	return turn
}
