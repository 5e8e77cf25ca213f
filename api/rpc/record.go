package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"harness/api/calls"
	"harness/api/rpc/wire"
	"harness/internal/services/audit"
)

// call implements wire.Call. The audit log gets every call that may change something, regardless of its outcome.
func (p *peer) call(ctx context.Context, request wire.Request) (any, *wire.Error) {
	result, failed := p.carryOut(ctx, request)
	p.record(ctx, request, result, failed)
	return result, failed
}

// refuse responds to a message without executing any of its requests. It returns nil if no client waits for a
// response.
func (p *peer) refuse(message []byte, failed *wire.Error) json.RawMessage {
	return wire.Serve(p.Context, message, func(ctx context.Context, request wire.Request) (any, *wire.Error) {
		p.record(ctx, request, nil, failed)
		return nil, failed
	}).Reply
}

func (p *peer) record(ctx context.Context, request wire.Request, result any, failed *wire.Error) {
	m := p.server.methods[request.Method]
	if m == nil || !m.changes() {
		return
	}
	about := audit.Call{Protocol: "json-rpc", Route: m.name, SessionID: sessionOf(request, result), Outcome: "ok"}
	if failed != nil {
		about.Outcome, about.Code = outcomeOf(failed)
	}
	calls.Record(ctx, p.Principal, about)
}

// outcomeOf converts an error into an outcome and its code.
func outcomeOf(failed *wire.Error) (outcome, code string) {
	code = strconv.Itoa(failed.Code)
	if data, is := failed.Data.(failureData); is {
		code = cmp.Or(data.Code, code)
	}
	switch code {
	case failedNoRequest, failedBusy, failedRate, failedStopping, failedWorkspace:
		return "refused", code
	}
	if failed.Code == wire.CodeInternal {
		return "failed", code
	}
	return "refused", code
}

// changes reports whether calls of a method may change more than their socket's watched sessions.
func (m *method) changes() bool { return m.role == roleOperator || m.role == roleAdmin }

// sessionOf returns the session that a call found or named, "" for none.
func sessionOf(request wire.Request, result any) string {
	switch done := result.(type) {
	case startResult:
		return done.SessionID
	case sendResult:
		return done.SessionID
	}
	var named struct {
		SessionID string `json:"session_id"`
		Resumed   string `json:"resume_session_id"`
	}
	if json.Unmarshal(request.Params, &named) != nil {
		return "" // other params are refused
	}
	return cmp.Or(named.SessionID, named.Resumed)
}
