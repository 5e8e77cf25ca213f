package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime/stdio"
	"harness/internal/services/tracing"
)

// startSpans begins to export spans, where that is switched on.
func (s *Server) startSpans(ctx context.Context) error {
	set := s.cfg.Traces
	if !set.On {
		return nil
	}
	var err error
	s.exporter, err = otlp.New(otlp.Options{
		Endpoint: set.Endpoint, TracesEndpoint: set.TracesEndpoint, Headers: set.Headers, Protocol: set.Protocol,
		ServiceName: set.ServiceName, Resource: set.Resource, Sampler: set.Sampler, SamplerArg: set.SamplerArg,
		Version: version, Instance: s.dir.nodeID, Exported: s.metrics.spans.exported, Failed: s.metrics.spans.failed,
		Logger: s.log.With().Str("package", "otlp").Logger(),
	})
	if err != nil {
		return &usageError{err}
	}
	s.spans = tracing.New(s.exporter.Record, s.traceOf)
	return s.spans.Start(ctx)
}

// stopSpans sends what is left. A collector that does not take it in time is no failure of this server: it gets half of
// the time that this part has to end.
func (s *Server) stopSpans(ctx context.Context) error {
	err := s.spans.Stop(ctx)
	if s.exporter != nil {
		end, _ := ctx.Deadline() // each part is stopped within a bound
		bounded, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		if lost := s.exporter.Stop(bounded); lost != nil {
			s.log.Warn().Err(lost).Msg("the collector did not take the last spans; they are dropped")
		}
	}
	return err
}

// callMetrics tell how long runtimes take to answer.
type callMetrics struct{ took *prometheus.HistogramVec }

func newCallMetrics(registry prometheus.Registerer) callMetrics {
	m := callMetrics{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: telemetry.MetricName("runtime", "call_seconds"),
		Help: "How long calls of a runtime took, until it answered or was given up.", Buckets: workSeconds()},
		[]string{"runtime"})}
	registry.MustRegister(m.took)
	return m
}

// runtimeCalled hears of the calls of a runtime.
func (s *Server) runtimeCalled(name string) stdio.Called {
	took := s.metrics.calls.took.WithLabelValues(name)
	return func(ctx context.Context, method string, lasted time.Duration, err error) {
		took.Observe(lasted.Seconds())
		s.spans.Called(ctx, name, method, lasted, err)
	}
}

// spanMetrics count what is exported.
type spanMetrics struct{ total *prometheus.CounterVec }

func newSpanMetrics(registry prometheus.Registerer) spanMetrics {
	m := spanMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("otel", "spans_total"),
		Help: "Spans that the collector took, and that it did not take."}, []string{"outcome"})}
	for _, outcome := range []string{spansExported, spansFailed} {
		m.total.WithLabelValues(outcome)
	}
	registry.MustRegister(m.total)
	return m
}

const (
	spansExported = "exported"
	spansFailed   = "failed"
)

func (m spanMetrics) exported(spans int) { m.total.WithLabelValues(spansExported).Add(float64(spans)) }
func (m spanMetrics) failed(spans int)   { m.total.WithLabelValues(spansFailed).Add(float64(spans)) }
