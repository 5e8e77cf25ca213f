package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"harness/cluster"
	"harness/telemetry"
)

// nodeMetrics tell how this node stands among others on its store; none on SQLite.
type nodeMetrics struct {
	registry prometheus.Registerer
	ended    prometheus.Counter
}

func newNodeMetrics(registry prometheus.Registerer) nodeMetrics {
	return nodeMetrics{registry: registry, ended: prometheus.NewCounter(prometheus.CounterOpts{
		Name: telemetry.MetricName("nodes", "ended_total"),
		Help: "Other nodes that were silent for too long and whose turns, requests and jobs this one ended.",
	})}
}

// watch shows a lease.
func (m nodeMetrics) watch(lease *cluster.Lease) {
	gauge := func(name, help string, is func() bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: telemetry.MetricName("node", name), Help: help}, func() float64 {
			if is() {
				return 1
			}
			return 0
		})
	}
	m.registry.MustRegister(m.ended,
		gauge("lease_sure", "1 while no other node can have taken this one for dead.", func() bool { return lease.Sure() == nil }),
		gauge("draining", "1 while this node begins nothing new.", lease.Draining))
}
