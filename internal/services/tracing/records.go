package tracing

import (
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/stream"
)

// Types of other packages' events that begin or end a span.
const (
	eventApprovalResolved = "approval_resolved"
	eventTaskBound        = "task.bound"
)

// open has the unfinished items and turns that this server saw start. Only the goroutine of the Tracer accesses it.
type open struct {
	items, turns map[string]int64 // by id: start time, ms
	taskOf       map[string]string
	asked        map[string]stream.RequestRef
}

// remembered bounds each of the maps: a full map is cleared, because some entries never end.
const remembered = 4096

func newOpen() open {
	return open{map[string]int64{}, map[string]int64{}, map[string]string{}, map[string]stream.RequestRef{}}
}

func remember[V any](in map[string]V, key string, value V) {
	if len(in) >= remembered {
		clear(in)
	}
	in[key] = value
}

// OnRecords is a journal.Subscriber: it queues records that may begin or end a span, and never blocks.
func (t *Tracer) OnRecords(records []journal.Record) {
	for i := range records {
		switch records[i].Type {
		case stream.EventNotification, stream.EventRequest:
			if _, own := records[i].Known.(*stream.Meta); !own {
				continue // another server makes the spans of its own runtimes
			}
		case eventApprovalResolved, eventTaskBound:
		default:
			continue
		}
		select {
		case t.records <- records[i]:
		default: // the queue is full
		}
	}
}

func (t *Tracer) observe(record *journal.Record) {
	switch record.Type {
	case eventTaskBound:
		var bound struct {
			TaskID string `json:"task_id"`
			TurnID string `json:"turn_id"`
		}
		if json.Unmarshal(record.Payload, &bound) == nil && bound.TurnID != "" {
			remember(t.open.taskOf, bound.TurnID, bound.TaskID)
		}
	case eventApprovalResolved:
		t.resolved(record)
	case stream.EventRequest:
		if meta, own := record.Known.(*stream.Meta); own && meta.Request != nil {
			remember(t.open.asked, meta.Request.ID, *meta.Request)
		}
	case stream.EventNotification:
		t.line(record)
	}
}

// resolved makes the span of an approval that was requested from this server, regardless of who decided it.
func (t *Tracer) resolved(record *journal.Record) {
	var end struct{ ApprovalID, Status, Decision, DecidedBy string }
	if json.Unmarshal(record.Payload, &end) != nil {
		return
	}
	asked, own := t.open.asked[end.ApprovalID]
	if !own {
		return
	}
	delete(t.open.asked, end.ApprovalID)
	outcome := end.Status
	if end.Decision != "" {
		outcome = end.Decision
	}
	span := t.within(record.SessionID, asked.TurnID, otlp.Span{Name: spanApproval, SpanID: idOf(spanApproval, asked.ID),
		Start: time.UnixMilli(asked.CreatedAt), End: time.UnixMilli(record.Time), Attributes: []attribute.KeyValue{
			attrSession.String(record.SessionID), attrTurn.String(asked.TurnID), attrAsked.String(asked.Kind),
			attrOutcome.String(outcome)}})
	t.genai.resolved(record.SessionID, asked.ItemID, decided{outcome, end.DecidedBy, span.End.Sub(span.Start)})
	t.record(span)
}

// line handles a line of a runtime.
func (t *Tracer) line(record *journal.Record) {
	meta, _ := record.Known.(*stream.Meta)
	line, ok := stream.LineOf(&record.Event, meta)
	if !ok {
		return
	}
	switch method := wire.Text(line.Method); method {
	case wire.MethodTurnStarted:
		remember(t.open.turns, record.TurnID, record.Time)
	case wire.MethodTurnCompleted:
		t.turnEnded(record, line.Params)
	case wire.MethodItemStarted:
		remember(t.open.items, record.ItemID, record.Time)
	case wire.MethodItemCompleted:
		t.itemEnded(record, line.Params)
	default:
		t.genai.line(record, method, line.Params)
	}
}

func (t *Tracer) turnEnded(record *journal.Record, params json.RawMessage) {
	var end struct {
		Turn struct {
			Status     runtime.TurnStatus
			DurationMS *float64
		}
	}
	if record.TurnID == "" || json.Unmarshal(params, &end) != nil {
		return
	}
	began, known := t.open.turns[record.TurnID]
	switch {
	case end.Turn.DurationMS != nil:
		began = record.Time - int64(*end.Turn.DurationMS)
	case !known:
		began = record.Time
	}
	delete(t.open.turns, record.TurnID)
	span := otlp.Span{Name: spanTurn, TraceID: traceOr(record.TraceID, record.TurnID), SpanID: idOf(spanTurn, record.TurnID),
		Parent: record.SpanID, Start: time.UnixMilli(began), End: time.UnixMilli(record.Time), Attributes: []attribute.KeyValue{
			attrSession.String(record.SessionID), attrTurn.String(record.TurnID), attrRuntime.String(record.Source),
			attrOutcome.String(string(end.Turn.Status))}}
	if task, ok := t.open.taskOf[record.TurnID]; ok {
		span.Parent = idOf(spanTask, task)
		delete(t.open.taskOf, record.TurnID)
	}
	if end.Turn.Status == runtime.TurnFailed {
		span.Failed = string(runtime.TurnFailed)
	}
	t.genai.turnEnded(&span, record, wire.ReadTurn(wire.Members(params, "turn")[0]))
	t.record(span)
}

// itemEnded makes the span of a tool that the runtime ran itself.
func (t *Tracer) itemEnded(record *journal.Record, params json.RawMessage) {
	began, known := t.open.items[record.ItemID]
	delete(t.open.items, record.ItemID)
	var end struct {
		Item struct{ Type, Status, Tool string }
	}
	if !known || json.Unmarshal(params, &end) != nil {
		return
	}
	switch end.Item.Type {
	case wire.ItemCommand, wire.ItemFileChange, wire.ItemToolCall, wire.ItemClientTool:
	default:
		return
	}
	span := t.within(record.SessionID, record.TurnID, otlp.Span{Name: spanTool,
		SpanID: idOf(spanTool, record.TurnID+"\x00"+record.ItemID), Start: time.UnixMilli(began),
		End: time.UnixMilli(record.Time), Attributes: []attribute.KeyValue{attrSession.String(record.SessionID),
			attrTurn.String(record.TurnID), attrTool.String(end.Item.Type), attrExecuted.String("runtime"),
			attrRuntime.String(record.Source), attrOutcome.String(end.Item.Status)}})
	if end.Item.Status == wire.StatusFailed {
		span.Failed = wire.StatusFailed
	}
	name, kind := toolOf(end.Item.Type, end.Item.Tool)
	t.genai.toolEnded(&span, record.SessionID, record.ItemID, name, kind)
	t.record(span)
}
