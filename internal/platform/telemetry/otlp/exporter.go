// Package otlp sends spans to an OpenTelemetry collector, as OTLP over HTTP.
//
// It ensures that no caller waits for the collector. Spans are queued, sent in batches by a goroutine, and dropped if
// the collector does not accept them. It must never know what a span is about.
package otlp

import (
	"context"
	"encoding/hex"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Span is a finished unit of work.
type Span struct {
	Name string
	// TraceID has 32 hex digits, SpanID and Parent 16; Parent is "" for the first span of a trace.
	TraceID, SpanID, Parent string
	Start, End              time.Time
	// Failed is our code for the reason of a failure, "" without one.
	Failed string
	// Serves reports whether the work was requested from outside.
	Serves bool
	// Attributes are ids, names and numbers, never text from a person or a model.
	Attributes []attribute.KeyValue
}

// Exporter accepts spans and sends them. Make it with New, end it with Stop.
type Exporter struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	client   *client
}

// New makes an exporter, which connects when there is something to send. The error names the invalid setting.
func New(o Options) (*Exporter, error) {
	chosen, err := o.sampler()
	if err != nil {
		return nil, err
	}
	about, err := o.resource()
	if err != nil {
		return nil, err
	}
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	batch := []sdk.BatchSpanProcessorOption{}
	if o.Delay > 0 {
		batch = append(batch, sdk.WithBatchTimeout(o.Delay))
	}
	provider := sdk.NewTracerProvider(sdk.WithIDGenerator(given{}), sdk.WithSampler(chosen),
		sdk.WithResource(resource.NewSchemaless(about...)),
		sdk.WithBatcher(&watched{SpanExporter: otlptrace.NewUnstarted(c), options: o}, batch...))
	return &Exporter{provider: provider, tracer: provider.Tracer("harness"), client: c}, nil
}

// Record queues a span to be sent; it never blocks. It ignores a span with invalid ids.
func (e *Exporter) Record(s Span) {
	ids, ok := idsOf(s)
	if !ok {
		return
	}
	ctx := context.WithValue(context.Background(), idsKey{}, ids)
	if ids.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(
			trace.SpanContextConfig{TraceID: ids.trace, SpanID: ids.parent, TraceFlags: trace.FlagsSampled, Remote: true}))
	}
	kind := trace.SpanKindInternal
	if s.Serves {
		kind = trace.SpanKindServer
	}
	_, span := e.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithSpanKind(kind),
		trace.WithAttributes(s.Attributes...))
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(trace.WithTimestamp(s.End))
}

// Stop sends the queued spans until ctx ends; spans that the collector has not accepted by then are lost.
func (e *Exporter) Stop(ctx context.Context) error {
	err := e.provider.Shutdown(ctx)
	e.client.cut()
	return err
}

// ids are the ids that a span must get.
type ids struct {
	trace        trace.TraceID
	span, parent trace.SpanID
}

type idsKey struct{}

func idsOf(s Span) (out ids, ok bool) {
	if !decode(out.trace[:], s.TraceID) || !decode(out.span[:], s.SpanID) {
		return out, false
	}
	return out, (s.Parent == "" || decode(out.parent[:], s.Parent)) && out.trace.IsValid() && out.span.IsValid()
}

func decode(into []byte, text string) bool {
	if len(text) != 2*len(into) {
		return false
	}
	_, err := hex.Decode(into, []byte(text))
	return err == nil
}

// given is an id generator that uses the ids passed to Record. A span's ids are used, also by other servers, before the
// span ends.
type given struct{}

// NewIDs implements sdk.IDGenerator.
func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	own, _ := ctx.Value(idsKey{}).(ids)
	return own.trace, own.span
}

// NewSpanID implements sdk.IDGenerator.
func (g given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := g.NewIDs(ctx)
	return span
}
