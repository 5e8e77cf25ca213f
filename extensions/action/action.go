package action

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/transcript"
)

// Outcomes of the packages behind the interfaces, which their adapters wrap. Any other error is a failure.
var (
	// ErrGone: the subject of the action was deleted or never existed.
	ErrGone = errors.New("there is nothing left to act on")
	// ErrResolved: another actor decided first.
	ErrResolved = errors.New("already resolved")
	// ErrConflict: the state does not allow it now, for example no such turn is running.
	ErrConflict = errors.New("the state does not allow it")
	// ErrInvalid: the package refused the payload.
	ErrInvalid = errors.New("invalid request")
)

// Transcripts writes entries; package session implements it.
type Transcripts interface {
	UpsertTranscript(ctx context.Context, sessionID string, entry transcript.Entry) error
}

// Approvals reads and decides interactive requests; package session implements it.
type Approvals interface {
	// Approval describes a request. It returns ErrGone if no request has that id.
	Approval(ctx context.Context, approvalID string) (Approval, error)
	// Decide settles a request. It returns ErrResolved if another actor did.
	Decide(ctx context.Context, decision Decision) error
}

// Decision is an extension's decision about an approval. Message is its reason, "" for none; Actor names the extension.
type Decision struct{ ApprovalID, Decision, Scope, Message, Actor string }

// Approval is the subject of a request.
type Approval struct{ SessionID, TurnID string }

// Turns steers running turns.
type Turns interface {
	// Steer adds input to a running turn. It returns ErrConflict if the turn is not running.
	Steer(ctx context.Context, sessionID, turnID, text string) error
}

// Journal stores results; *journal.Journal implements it.
type Journal interface {
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
}

// Options configure an Executor. Journal and DB are required; an action whose package is nil fails.
type Options struct {
	Journal     Journal
	DB          *database.DB
	Transcripts Transcripts
	Approvals   Approvals
	Turns       Turns
	Titles      Titles
	Jobs        extensions.Jobs
	Logger      zerolog.Logger
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Executor executes action requests. It implements extensions.Actions.
type Executor struct {
	opts Options
	keys keylock.Locks // one lock per idempotency key
}

// New makes an executor.
func New(opts Options) *Executor {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	return &Executor{opts: opts}
}

// outcome is the result of one action.
type outcome struct {
	status  sdk.ActionStatus
	code    string
	message string
	more    map[string]any // further details
}

func performed(more map[string]any) outcome { return outcome{status: sdk.Performed, more: more} }

func refused(status sdk.ActionStatus, code, message string) outcome {
	return outcome{status: status, code: code, message: message}
}

func (o outcome) details() json.RawMessage {
	details := map[string]any{}
	for key, value := range o.more {
		details[key] = value
	}
	if o.code != "" {
		details["code"] = o.code
	}
	if o.message != "" {
		details["message"] = o.message
	}
	if len(details) == 0 {
		return nil
	}
	encoded, err := json.Marshal(details)
	if err != nil {
		return nil // strings and decoded JSON always encode
	}
	return encoded
}

// prepared is a valid action within its scope.
type prepared func(ctx context.Context) outcome

// Execute runs one request and returns its outcome. One idempotency key acts once: a repeat of the same request gets
// the first result, and another request gets a conflict. A request without a key gets one derived from its content if
// its event or job has an id (CorrelationID). An event that is dispatched twice therefore acts once.
func (e *Executor) Execute(ctx context.Context, call extensions.ActionCall) sdk.EmitResult {
	result := sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: call.ModuleName, ActionType: call.Request.ActionType,
		RequestID: call.Request.RequestID, IdempotencyKey: call.Request.IdempotencyKey}
	done := e.execute(ctx, call, &result)
	result.Status, result.Details = string(done.status), done.details()
	if done.status == sdk.Failed {
		e.opts.Logger.Warn().Str("module", call.ModuleName).Str("action", call.Request.ActionType).Str("session",
			call.Scope.SessionID).
			Str("code", done.code).Msg("an extension's action failed: " + done.message)
	}
	return result
}

func (e *Executor) execute(ctx context.Context, call extensions.ActionCall, result *sdk.EmitResult) outcome {
	act, problem := e.prepare(ctx, call)
	if problem != nil {
		return *problem
	}
	signature, err := signatureOf(call)
	if err != nil {
		return refused(sdk.Invalid, "invalid_payload", err.Error())
	}
	key := call.Request.IdempotencyKey
	if key == "" && call.CorrelationID != "" {
		key = "derived:" + hash(call.CorrelationID, signature)
		result.IdempotencyKey = key
	}
	if key == "" {
		return act(ctx)
	}
	return e.once(ctx, hash(call.Extension, key), signature, call.Scope.SessionID, act)
}

// byError turns a package's error into an outcome.
func byError(err error) outcome {
	switch {
	case err == nil:
		return performed(nil)
	case errors.Is(err, ErrGone):
		return refused(sdk.NotEligible, "not_found", err.Error())
	case errors.Is(err, ErrResolved):
		return refused(sdk.AlreadyResolved, "already_resolved", err.Error())
	case errors.Is(err, ErrConflict):
		return refused(sdk.Conflict, "conflict", err.Error())
	case errors.Is(err, ErrInvalid):
		return refused(sdk.Invalid, "invalid_payload", err.Error())
	}
	return refused(sdk.Failed, "execution_failed", err.Error())
}
