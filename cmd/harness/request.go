package main

import (
	"encoding/json"

	"harness/session"
	"harness/stream"
)

// requestPayload words a pending request for a REST list exactly as its frame on the stream does.
func requestPayload(request session.Request) (json.RawMessage, error) {
	ref := stream.RequestRef{
		ID: request.ID, Kind: string(request.Kind), Summary: request.Summary,
		ThreadID: request.SessionID, TurnID: request.TurnID, ItemID: request.ItemID, CreatedAt: request.CreatedAt,
		Decisions: request.Decisions, Questions: request.Questions,
	}
	return stream.RequestPayload(ref, request.Method, request.Params), nil
}
