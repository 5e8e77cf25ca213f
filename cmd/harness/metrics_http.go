package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/api"
	"harness/telemetry"
)

// httpMetrics count what happens to connections and requests before a route sees them.
type httpMetrics struct {
	connections prometheus.Gauge
	reaped      *prometheus.CounterVec
	refused     prometheus.Counter
	guarded     *prometheus.CounterVec
}

func newHTTPMetrics(registry prometheus.Registerer) httpMetrics {
	m := httpMetrics{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: telemetry.MetricName("http", "connections"),
			Help: "Open connections that are no streams."}),
		reaped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: telemetry.MetricName("http", "reaped_total"),
			Help: "Connections closed for what their peer left undone: header, body, answer, idle, evicted at the limit.",
		}, []string{"reason"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("http", "refused_total"),
			Help: "Connections answered 503 at the limit."}),
		guarded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: telemetry.MetricName("auth", "refused_total"),
			Help: "Requests and handshakes refused for their host, origin or token.",
		}, []string{"reason"}),
	}
	registry.MustRegister(m.connections, m.reaped, m.refused, m.guarded)
	return m
}

func (m httpMetrics) options() api.ConnLimiterMetrics {
	return api.ConnLimiterMetrics{
		Connections: func(delta int) { m.connections.Add(float64(delta)) },
		Reaped:      func(reason string) { m.reaped.WithLabelValues(reason).Inc() },
		Refused:     m.refused.Inc,
	}
}

func (m httpMetrics) guardRefused(code string) { m.guarded.WithLabelValues(code).Inc() }
