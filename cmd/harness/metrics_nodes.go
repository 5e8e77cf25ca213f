package main

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/cluster"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/telemetry"
)

// nodeMetrics tell how this node stands among others on its store; none on SQLite.
type nodeMetrics struct {
	registry prometheus.Registerer
	ended    prometheus.Counter
	asked    *prometheus.CounterVec
	told     prometheus.Counter
	heard    prometheus.Counter
	early    *prometheus.CounterVec
}

func newNodeMetrics(registry prometheus.Registerer) nodeMetrics {
	return nodeMetrics{registry: registry, ended: prometheus.NewCounter(prometheus.CounterOpts{
		Name: telemetry.MetricName("nodes", "ended_total"),
		Help: "Other nodes that were silent for too long and whose turns, requests and jobs this one ended.",
	}), asked: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: telemetry.MetricName("nodes", "asked_total"),
		Help: "Requests of clients that other nodes were asked for, by what came of it: answered, unreachable, lost, or failed here.",
	}, []string{"outcome"}),
		told: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("nodes", "news_told_total"),
			Help: "Times other nodes were told that there are new events."}),
		heard: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("nodes", "news_heard_total"),
			Help: "Times another node said that there are new events."}),
		early: prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("nodes", "early_total"),
			Help: "Pieces of text that are not stored yet: sent to another node, received from one and shown, or dropped either way."},
			[]string{"what"})}
}

// countingOwners asks owners and counts what came of it.
type countingOwners struct {
	*forward.Client
	asked *prometheus.CounterVec
}

// Ask implements api.Owners.
func (o countingOwners) Ask(r *http.Request, owner, body string) (*http.Response, error) {
	answer, err := o.Client.Ask(r, owner, body)
	var (
		unreachable *forward.UnreachableError
		lost        *forward.LostAnswerError
	)
	switch {
	case errors.Is(err, forward.ErrClientsTurn): // nobody was asked
	case err == nil:
		o.asked.WithLabelValues("answered").Inc()
	case errors.As(err, &unreachable):
		o.asked.WithLabelValues("unreachable").Inc()
	case errors.As(err, &lost):
		o.asked.WithLabelValues("lost").Inc()
	default:
		o.asked.WithLabelValues("failed").Inc()
	}
	return answer, err
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
	m.registry.MustRegister(m.ended, m.asked, m.told, m.heard, m.early,
		gauge("lease_sure", "1 while no other node can have taken this one for dead.", func() bool { return lease.Sure() == nil }),
		gauge("draining", "1 while this node begins nothing new.", lease.Draining))
}

// countEarly counts pieces of text by what became of them.
func (m nodeMetrics) countEarly(what string) func(int) {
	counter := m.early.WithLabelValues(what)
	return func(pieces int) { counter.Add(float64(pieces)) }
}
