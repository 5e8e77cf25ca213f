// Package tracing makes spans of the work of this server: requests, tasks, turns, tool runs, waits for a decision and
// runtime calls.
//
// It owns their names, ids and attributes, and that these contain no text of a person or a model. A caller must never
// wait for it.
package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"harness/internal/lib/lifecycle"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/services/tasks"
	"harness/internal/services/tools"
)

// The names of spans.
const (
	spanRequest  = "request"
	spanTask     = "task"
	spanTurn     = "turn"
	spanTool     = "tool run"
	spanApproval = "approval wait"
	spanCall     = "runtime call"
)

// The names of attributes.
const (
	attrSession  = attribute.Key("harness.session.id")
	attrTask     = attribute.Key("harness.task.id")
	attrTurn     = attribute.Key("harness.turn.id")
	attrRuntime  = attribute.Key("harness.runtime")
	attrOutcome  = attribute.Key("harness.outcome")
	attrTool     = attribute.Key("harness.tool.name")
	attrClass    = attribute.Key("harness.tool.class")
	attrCall     = attribute.Key("harness.tool.call.id")
	attrExecuted = attribute.Key("harness.tool.executed_by")
	attrAsked    = attribute.Key("harness.request.kind")
	attrMethod   = attribute.Key("rpc.method")
	attrRoute    = attribute.Key("http.route")
	attrVerb     = attribute.Key("http.request.method")
	attrStatus   = attribute.Key("http.response.status_code")
)

// queued bounds the records that wait for the Tracer; further ones make no spans.
const queued = 4096

// Tracer makes spans. A nil Tracer makes none: all methods accept it.
type Tracer struct {
	record func(otlp.Span)
	traced func(sessionID, turnID string) (traceID, spanID string)

	records chan journal.Record
	loops   lifecycle.Loops
	open    open
	genai   *genai // nil without attributes for generative AI
}

// New makes a Tracer. It calls record with every span; record must not block. traced returns the trace of a turn, ""
// for none.
func New(record func(otlp.Span), traced func(sessionID, turnID string) (traceID, spanID string)) *Tracer {
	return &Tracer{record: record, traced: traced, records: make(chan journal.Record, queued), open: newOpen()}
}

// Start starts to make spans of the records.
func (t *Tracer) Start(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.loops.Start(ctx, func(context.Context) error {
		t.loops.Go(func(running context.Context) {
			for {
				select {
				case record := <-t.records:
					t.observe(&record)
				case <-running.Done():
					return
				}
			}
		})
		return nil
	})
}

// Stop stops it. Queued records make no spans.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	_, err := t.loops.Stop(ctx, "the making of spans")
	return err
}

// Request starts the span of a request and returns the trace for its effects. end gets the outcome.
func (t *Tracer) Request(caller telemetry.Trace, verb string) (own telemetry.Trace, end func(route string, status int,
	began time.Time, took time.Duration)) {
	quiet := verb == http.MethodGet || verb == http.MethodHead || verb == http.MethodOptions
	if t == nil || caller.TraceID == "" && quiet {
		return caller, func(string, int, time.Time, time.Duration) {}
	}
	own = telemetry.Trace{TraceID: caller.TraceID, SpanID: telemetry.NewSpanID(), Sampled: true}
	if own.TraceID == "" {
		own.TraceID = telemetry.NewTraceID()
	}
	return own, func(route string, status int, began time.Time, took time.Duration) {
		if status == http.StatusSwitchingProtocols {
			return // a stream lasts as long as its client
		}
		span := otlp.Span{Name: spanRequest, TraceID: own.TraceID, SpanID: own.SpanID, Parent: caller.SpanID, Serves: true,
			Start: began, End: began.Add(took), Attributes: []attribute.KeyValue{attrVerb.String(verb), attrRoute.String(route),
				attrStatus.Int(status)}}
		if status >= http.StatusInternalServerError {
			span.Failed = http.StatusText(status)
		}
		t.record(span)
	}
}

// TaskEnded makes the span of a task, from its submission.
func (t *Tracer) TaskEnded(e tasks.Ended) {
	if t == nil {
		return
	}
	key := e.TurnID
	if key == "" {
		key = e.TaskID
	}
	span := otlp.Span{Name: spanTask, TraceID: traceOr(e.TraceID, key), SpanID: idOf(spanTask, e.TaskID), Parent: e.SpanID,
		Start: e.Asked, End: e.At, Attributes: []attribute.KeyValue{attrSession.String(e.SessionID), attrTask.String(e.TaskID),
			attrTurn.String(e.TurnID), attrOutcome.String(string(e.Status))}}
	if e.Status == tasks.Failed {
		span.Failed = e.Code
	}
	t.record(span)
}

// ToolEnded makes the span of a completed call of one of the server's tools.
func (t *Tracer) ToolEnded(call tools.Call, class string, end tools.Completed) {
	if t == nil {
		return
	}
	now := time.Now()
	span := t.within(call.SessionID, call.TurnID, otlp.Span{Name: spanTool, SpanID: idOf(spanTool, call.ID),
		Start: now.Add(-time.Duration(end.DurationMS) * time.Millisecond), End: now, Attributes: []attribute.KeyValue{
			attrSession.String(call.SessionID), attrTurn.String(call.TurnID), attrTool.String(call.Tool), attrClass.String(class),
			attrCall.String(call.ID), attrExecuted.String(end.ExecutedBy)}})
	if end.IsError {
		span.Failed = "failed"
	}
	t.genai.toolEnded(&span, call.SessionID, call.ID, call.Tool, toolFunction)
	t.record(span)
}

// Called makes the span of a runtime call, in the trace of its caller; a call without a trace has no span.
func (t *Tracer) Called(ctx context.Context, name, method string, took time.Duration, err error) {
	ids := telemetry.IDsFrom(ctx)
	if t == nil || ids.Trace.TraceID == "" {
		return
	}
	now := time.Now()
	span := otlp.Span{Name: spanCall, TraceID: ids.Trace.TraceID, SpanID: telemetry.NewSpanID(), Parent: ids.Trace.SpanID,
		Start: now.Add(-took), End: now, Attributes: []attribute.KeyValue{attrRuntime.String(name), attrMethod.String(method)}}
	if ids.Session != "" {
		span.Attributes = append(span.Attributes, attrSession.String(ids.Session))
	}
	if err != nil {
		span.Failed = "failed" // the error's text may be the agent's
	}
	t.record(span)
}

// within puts a span into a turn.
func (t *Tracer) within(sessionID, turnID string, span otlp.Span) otlp.Span {
	traceID, caller := t.traced(sessionID, turnID)
	span.TraceID, span.Parent = traceOr(traceID, turnID), caller
	if turnID != "" {
		span.Parent = idOf(spanTurn, turnID)
	}
	if span.TraceID == "" { // it has no turn and no trace
		span.TraceID = telemetry.NewTraceID()
	}
	return span
}

// traceOr returns a trace, or a new one for work without a caller's trace.
func traceOr(traceID, key string) string {
	if traceID != "" || key == "" {
		return traceID
	}
	sum := sha256.Sum256([]byte("trace\x00" + key))
	return hex.EncodeToString(sum[:16])
}

// idOf returns the span id of an object. It is deterministic, so that child spans can name it before it ends, and after
// a restart.
func idOf(kind, id string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + id))
	return hex.EncodeToString(sum[:8])
}
