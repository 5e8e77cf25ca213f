package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/api"
	"harness/api/conns"
	"harness/internal/platform/telemetry"
)

// HTTP counts connections and requests before they reach a route.
type HTTP struct {
	connections prometheus.Gauge
	reaped      *prometheus.CounterVec
	refused     prometheus.Counter
	guarded     *prometheus.CounterVec
	requests    *prometheus.CounterVec
	durations   prometheus.Histogram
}

func newHTTPMetrics(registry prometheus.Registerer) HTTP {
	m := HTTP{
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
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("http", "requests_total"),
		Help: "Requests answered, by route (\"none\" took it) and class of status; a stream counts when it is closed."},
		[]string{"method", "route", "status"})
	m.durations = prometheus.NewHistogram(prometheus.HistogramOpts{Name: telemetry.MetricName("http", "request_duration_seconds"),
		Help: "How long requests took, without streams.", Buckets: []float64{.005, .025, .1, .5, 2.5, 10, 60}})
	for _, operation := range api.Operations() {
		for _, class := range []string{"2xx", "4xx", "5xx"} {
			m.requests.WithLabelValues(operation.Method, operation.Path, class)
		}
	}
	m.requests.WithLabelValues(anyMethod, noRoute, "4xx")
	registry.MustRegister(m.connections, m.reaped, m.refused, m.guarded, m.requests, m.durations)
	return m
}

// Labels for the method and the route of an unrouted request: invented names must not create series.
const (
	anyMethod = "any"
	noRoute   = "none"
)

// Answered counts a request. A HEAD request counts as GET.
func (m HTTP) Answered(method, route string, status int, took time.Duration) {
	switch {
	case route == "":
		method, route = anyMethod, noRoute
	case method == http.MethodHead:
		method = http.MethodGet
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status/100)+"xx").Inc()
	if status != http.StatusSwitchingProtocols {
		m.durations.Observe(took.Seconds())
	}
}

// Options returns the counters of a connection limiter.
func (m HTTP) Options() conns.Metrics {
	return conns.Metrics{
		Connections: func(delta int) { m.connections.Add(float64(delta)) },
		Reaped:      func(reason string) { m.reaped.WithLabelValues(reason).Inc() },
		Refused:     m.refused.Inc,
	}
}

// GuardRefused counts a request that was refused before it reached a route, by the code of its error.
func (m HTTP) GuardRefused(code string) { m.guarded.WithLabelValues(code).Inc() }
