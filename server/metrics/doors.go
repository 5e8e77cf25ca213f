package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
)

// Doors counts what front ends ask for in vain.
type Doors struct{ refused *prometheus.CounterVec }

func newDoorMetrics(registry prometheus.Registerer) Doors {
	m := Doors{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: telemetry.MetricName("door", "refused_total"),
		Help: "Methods that front ends called and this server does not offer, by protocol and name.",
	}, []string{"door", "method"})}
	registry.MustRegister(m.refused)
	return m
}

// Refused returns a counter of a protocol's refused methods.
func (m Doors) Refused(door string) func(method string) {
	return func(method string) { m.refused.WithLabelValues(door, method).Inc() }
}
