package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
)

// Calls measures how long runtimes take to answer.
type Calls struct{ Took *prometheus.HistogramVec }

func newCallMetrics(registry prometheus.Registerer) Calls {
	m := Calls{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: telemetry.MetricName("runtime", "call_seconds"),
		Help: "How long calls of a runtime took, until it answered or was given up.", Buckets: workSeconds()},
		[]string{"runtime"})}
	registry.MustRegister(m.Took)
	return m
}

// Spans counts exported spans.
type Spans struct{ total *prometheus.CounterVec }

func newSpanMetrics(registry prometheus.Registerer) Spans {
	m := Spans{prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("otel", "spans_total"),
		Help: "Spans that the collector took, and that it did not take."}, []string{"outcome"})}
	for _, outcome := range []string{spansExported, spansFailed} {
		m.total.WithLabelValues(outcome)
	}
	registry.MustRegister(m.total)
	return m
}

// Exported counts spans that the collector accepted.
func (m Spans) Exported(spans int) { m.total.WithLabelValues(spansExported).Add(float64(spans)) }

// Failed counts spans that the collector did not accept.
func (m Spans) Failed(spans int) { m.total.WithLabelValues(spansFailed).Add(float64(spans)) }

const (
	spansExported = "exported"
	spansFailed   = "failed"
)
