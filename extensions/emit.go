package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions/sdk"
)

// Scope is the subject of an event: project, source session, turn. A handler's actions may touch only these; an empty
// field allows any.
type Scope struct {
	ProjectID, SessionID, TurnID string
}

// Outside describes a request about something other than the event's subject; "" for a request within the scope. An
// empty bound allows any.
func Outside(what, bound, asked string) string {
	if bound == "" || bound == asked {
		return ""
	}
	return fmt.Sprintf("the event is about %s %s, the action about %s", what, bound, asked)
}

// JobOutside is Outside for a job: its owner and the session that it comes from.
func (s Scope) JobOutside(job sdk.EnqueueInput) string {
	owner := s.ProjectID
	if owner == "" && s.SessionID != "" {
		owner = "session:" + s.SessionID // as in the queue (session.Session.Owner)
	}
	problem := Outside("project", owner, job.ProjectID)
	if problem == "" && job.SourceSessionID != nil {
		problem = Outside("session", s.SessionID, *job.SourceSessionID)
	}
	return problem
}

// Jobs queues jobs for handlers; the queue implements it.
type Jobs interface {
	EnqueueJob(ctx context.Context, input sdk.EnqueueInput) (sdk.EnqueueOutcome, error)
}

// Settings reads session settings for handlers; package session implements it.
type Settings interface {
	SessionSettings(ctx context.Context, sessionID string) (map[string]json.RawMessage, error)
}

// Actions executes the action requests of handlers; extensions/action implements it.
type Actions interface {
	// Execute runs one request. The result has its outcome, including errors.
	Execute(ctx context.Context, call ActionCall) sdk.EmitResult
}

// ActionCall is an action request with its requester and subject.
type ActionCall struct {
	ModuleName, Extension string
	EventType             string
	CorrelationID         string
	Scope                 Scope
	Request               sdk.ActionRequest
}

// Summary is the outcome of one dispatch.
type Summary struct {
	EventType                                  string
	Handlers, Enqueues, Actions, HandlerErrors int
	// Winner is the status and action of the authoritative action, "" without one.
	Winner string
	Took   time.Duration
}

// Details of results that the dispatcher makes itself.
const (
	codeWinnerSelected  = "action_winner_already_selected"
	codeUndeclared      = "undeclared_capability"
	codeNoExecutor      = "action_executor_unavailable"
	codeDirectAction    = "direct_action_result_disallowed"
	directActionMessage = "return an action_request: only the core performs actions"
)

// Emit calls every handler of the event's type, one after the other in dispatch order, and returns one result per
// handler. A handler that throws or exceeds its timeout yields handler_error, and the others still run. The first
// performed action wins; later requests are not executed. Without handlers it returns nil and encodes nothing.
func (r *Registry) Emit(ctx context.Context, event *Event, scope Scope) []sdk.EmitResult {
	if len(r.active.Load().byEvent[event.Type]) == 0 {
		return nil
	}
	s := r.acquire()
	defer s.release()
	bindings := s.byEvent[event.Type]
	if len(bindings) == 0 {
		return nil
	}
	started := time.Now()
	e := &emission{registry: r, event: event, scope: scope, results: make([]sdk.EmitResult, 0, len(bindings))}
	for i := range bindings {
		e.run(ctx, &bindings[i])
	}
	r.report(event, e.results, len(bindings), time.Since(started))
	return e.results
}

// emission is one dispatch of one event.
type emission struct {
	registry *Registry
	event    *Event
	scope    Scope
	results  []sdk.EmitResult
	winner   *sdk.EmitResult
}

func (p *emission) run(ctx context.Context, b *binding) {
	raw, err := p.invoke(ctx, b)
	if err != nil {
		p.registry.opts.Logger.Warn().Err(err).Str("event", p.event.Type).Str("module", b.moduleName).
			Msg("an extension's handler failed; the others still run")
		p.results = append(p.results, sdk.ToAgentEventHandlerError(b.moduleName, p.event.Type, err))
		return
	}
	if request, ok := sdk.AsActionRequest(raw); ok {
		result := p.act(ctx, b, request)
		p.results = append(p.results, result)
		if p.winner == nil && result.Status == string(sdk.Performed) {
			p.winner = &result
		}
		return
	}
	result := sdk.ToAgentEventEmitResult(b.moduleName, p.event.Type, raw)
	if result.Kind == sdk.ActionResult {
		result.Status = string(sdk.Invalid)
		result.Details = mergeDetails(result.Details, codeDirectAction, directActionMessage)
	}
	p.results = append(p.results, result)
}

// invoke runs one handler within its timeout. invoke returns at the timeout even if the module hangs.
func (p *emission) invoke(ctx context.Context, b *binding) (json.RawMessage, error) {
	bounded, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	tools := &invocation{registry: p.registry, binding: b, event: p.event, scope: p.scope}
	tools.open.Store(true)
	defer tools.open.Store(false)
	raw, err := b.module.Handle(bounded, b.subscription, p.event, tools)
	if bounded.Err() != nil && ctx.Err() == nil &&
		(err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return nil, fmt.Errorf("agent event handler timed out after %dms", b.timeout.Milliseconds())
	}
	return raw, err
}

// act handles one action request.
func (p *emission) act(ctx context.Context, b *binding, request sdk.ActionRequest) sdk.EmitResult {
	result := sdk.EmitResult{Kind: sdk.ActionResult, ModuleName: b.moduleName, ActionType: request.ActionType,
		RequestID: request.RequestID, IdempotencyKey: request.IdempotencyKey}
	if p.winner != nil {
		result.Status = string(sdk.NotEligible)
		result.Details = encode(map[string]string{"code": codeWinnerSelected, "winnerModuleName": p.winner.ModuleName,
			"winnerActionType": p.winner.ActionType})
		return result
	}
	done := p.registry.perform(ctx, b.declared, ActionCall{ModuleName: b.moduleName, Extension: b.extension,
		EventType: p.event.Type, CorrelationID: p.event.CorrelationID, Scope: p.scope, Request: request})
	// The executor must not change the requester and the subject.
	result.Status, result.Details = done.Status, done.Details
	if result.IdempotencyKey == "" {
		result.IdempotencyKey = done.IdempotencyKey
	}
	return result
}

func mergeDetails(details json.RawMessage, code, message string) json.RawMessage {
	merged := map[string]json.RawMessage{}
	if len(details) > 0 && json.Unmarshal(details, &merged) != nil {
		merged = map[string]json.RawMessage{}
	}
	merged["code"], merged["message"] = quote(code), quote(message)
	return encode(merged)
}

// report logs and counts a dispatch.
func (r *Registry) report(event *Event, results []sdk.EmitResult, handlers int, took time.Duration) {
	summary := Summary{EventType: event.Type, Handlers: handlers, Took: took}
	for i := range results {
		switch results[i].Kind {
		case sdk.EnqueueResult:
			summary.Enqueues++
		case sdk.ActionResult:
			summary.Actions++
		case sdk.HandlerError:
			summary.HandlerErrors++
		}
	}
	plan := sdk.SelectActionExecutionPlan(results)
	if plan.Winner != nil {
		summary.Winner = plan.Winner.ActionType
	}
	r.opts.Observe(summary)
	level := zerolog.DebugLevel
	if summary.Enqueues+summary.Actions+summary.HandlerErrors > 0 {
		level = zerolog.InfoLevel
	}
	line := r.opts.Logger.WithLevel(level).Str("event", event.Type).Int("handlers", handlers).Int("enqueues",
		summary.Enqueues).Int("actions", summary.Actions).
		Int("handler_errors", summary.HandlerErrors).Dur("took", took)
	if plan.Winner != nil {
		line = line.Str("action_winner", plan.Winner.ModuleName+" "+plan.Winner.ActionType)
	}
	if winner := sdk.SelectEnqueueWinner(results, sdk.PreferEnqueued); winner != nil {
		line = line.Str("enqueue_winner", winner.ModuleName+" "+winner.Status+" "+winner.Job.ID)
	}
	for i := range plan.Reconciled {
		line = line.Str("reconciled", plan.Reconciled[i].ModuleName+" "+plan.Reconciled[i].Status)
	}
	line.Msg("event dispatched to extensions")
}
