package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/api/door"
	"harness/api/idempotency"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

type object = map[string]any

// caller sends the calls of one request.
type caller struct {
	*door.Caller
	server *Server
}

// call is a call of a tool.
type call struct {
	*caller
	try door.Attempt
	// progress reports a call that waits, if its client asked for that.
	progress func(count int)
	// session is the session that the call is about, "" if unknown.
	session string
}

func (c *caller) ops() *door.Operations { return c.server.opts.Operations }

// run carries out a call and returns its result: the same content as structure and as text.
func (c *caller) run(ctx context.Context, one *tool, request *sdk.CallToolRequest,
	work func(ctx context.Context, k *call) (any, error)) *sdk.CallToolResult {
	reason, pause, leave := c.server.desk.Enter(c.Caller)
	if reason != door.Accepted {
		return result(nil, &failure{Code: "limit_reached", Message: reason.Failed(pause).Message,
			RetryAfter: max(1000, pause.Milliseconds())})
	}
	defer leave()
	own, cancel := context.WithCancel(c.Context) // the protocol's own context does not end with the request
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer context.AfterFunc(auth.AccessFrom(c.Context), cancel)()
	k := &call{caller: c, progress: func(count int) {
		if token := request.Params.GetProgressToken(); token != nil { // a client that is gone ends the call
			_ = request.Session.NotifyProgress(ctx,
				&sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(count), Message: "waiting"})
		}
	}}
	k.try = door.Attempt{Protocol: protocol, Method: one.name, Role: one.role, Ready: true,
		Agent: c.agent() != "" && c.has(one), Reads: c.server.opts.Reads,
		Run: func(ctx context.Context) (any, error) {
			if err := k.checkAgent(ctx); err != nil {
				return nil, err
			}
			return work(ctx, k)
		}, Failed: k.failed}
	answer, failed := c.CarryOut(own, k.try)
	if one.role == door.RoleOperator {
		c.Record(own, k.try, k.session, failed)
	}
	if failed != nil {
		return result(nil, failureOf(failed))
	}
	return result(answer, nil)
}

// failure is the error of a result.
type failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Status     int    `json:"status,omitempty"`
	RetryAfter int64  `json:"retry_after_ms,omitempty"`
}

func result(answer any, failed *failure) *sdk.CallToolResult {
	if failed != nil {
		answer = object{"error": failed}
	}
	encoded := javascript.MustEncode(answer)
	return &sdk.CallToolResult{IsError: failed != nil, StructuredContent: encoded,
		Content: []sdk.Content{&sdk.TextContent{Text: string(encoded)}}}
}

// failed converts an error of an operation.
func (k *call) failed(ctx context.Context, err error) *door.Failure {
	var own *door.Failure
	if errors.As(err, &own) {
		return own
	}
	for known, code := range map[error]string{
		idempotency.ErrReused: "key_reused", session.ErrKeyReused: "key_reused",
		idempotency.ErrUnderWay: "key_in_use", idempotency.ErrLost: "key_outcome_unknown",
	} {
		if errors.Is(err, known) {
			return refuse(http.StatusConflict, code, known.Error())
		}
	}
	return k.try.FailureOf(ctx, err, door.CodeInvalidParams)
}

// refuse is the failure of a call that breaks a rule of this door.
func refuse(status int, code, message string) *door.Failure {
	return &door.Failure{Code: door.CodeInvalidParams, Message: message, Data: &failure{Code: code, Message: message, Status: status}}
}

// failureOf converts the failure of a door.
func failureOf(f *door.Failure) *failure {
	if own, is := f.Data.(*failure); is {
		return own
	}
	made := &failure{Code: "internal_error", Message: f.Message}
	if f.Code != door.CodeInternal {
		made.Code = "invalid_request"
	}
	if f.Code == door.CodeForbidden {
		made.Code = "forbidden"
	}
	if data, is := f.Data.(map[string]any); is {
		if code, is := data["code"].(operations.Code); is {
			made.Code = string(code)
		}
		made.RetryAfter, _ = data["retry_after_ms"].(int64)
	}
	return made
}

// once carries out a call with a key, or returns its stored answer. It runs to the end even if the client disconnects.
// name identifies the call; again means that do finds what an earlier attempt with that name made.
func (k *call) once(ctx context.Context, key key, again bool, in any, do func(ctx context.Context, name string) (any, error)) (any, error) {
	claim, before, err := k.server.opts.Answers.Claim(ctx, idempotency.Request{Caller: k.Actor(), Key: protocol + " " + string(key),
		Parts: []string{k.try.Method, string(javascript.MustEncode(in))}, Again: again})
	if err != nil {
		return nil, err
	}
	if before != nil {
		if before.Status == http.StatusOK {
			return json.RawMessage(before.Body), nil
		}
		var refused failure
		if err := json.Unmarshal(before.Body, &refused); err != nil {
			return nil, err
		}
		return nil, &door.Failure{Code: door.CodeInvalidParams, Message: refused.Message, Data: &refused}
	}
	defer claim.Lose() // if it panics
	ctx = context.WithoutCancel(ctx)
	answer, err := do(ctx, claim.Name())
	stored := idempotency.Answer{Status: http.StatusOK}
	if err != nil {
		failed := k.failed(ctx, err)
		if failed.Code == door.CodeInternal && again {
			return nil, failed // the next attempt finds the outcome
		}
		if own := failureOf(failed); own.RetryAfter > 0 {
			return nil, errors.Join(failed, claim.GiveBack(ctx))
		}
		stored.Status, answer, err = http.StatusBadRequest, failureOf(failed), failed
	}
	stored.Body = javascript.MustEncode(answer)
	if unstored := claim.Conclude(ctx, stored); unstored != nil {
		telemetry.Log(ctx).Warn().Err(unstored).Msg("cannot store the answer to a call with a key; a retry gets an unknown outcome")
	}
	return answer, err
}

// maxShown is the length of a text in an answer, in characters.
const maxShown = 8000

// maxShownBytes is their length in UTF-8 at most.
const maxShownBytes = maxShown * utf8.UTFMax

// cut shortens a text for an answer.
func cut(text string) (shown string, truncated bool) {
	if len(text) <= maxShown || utf8.RuneCountInString(text) <= maxShown {
		return text, false
	}
	n := 0
	for at := range text {
		if n == maxShown {
			return text[:at], true
		}
		n++
	}
	return text, false
}

// instant is a time in an answer, from ms.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
