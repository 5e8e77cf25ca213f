package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a separate registry with the Go runtime's and the process's metrics. Packages register theirs on
// it: names are harness_<subsystem>_<unit> in base units (see MetricName), and no id is ever a label.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// MetricName builds the name of a metric: MetricName("ws", "clients") is
// harness_ws_clients. A counter's unit ends in _total.
func MetricName(subsystem, unit string) string {
	return prometheus.BuildFQName("harness", subsystem, unit)
}
