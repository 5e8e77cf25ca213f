package metrics

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/cluster"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/telemetry"
)

// Nodes has the metrics of this node and the other nodes of its store; none on SQLite.
type Nodes struct {
	registry prometheus.Registerer
	Ended    prometheus.Counter
	asked    *prometheus.CounterVec
	Sent     prometheus.Counter
	Received prometheus.Counter
	early    *prometheus.CounterVec
}

func newNodeMetrics(registry prometheus.Registerer) Nodes {
	return Nodes{registry: registry, Ended: prometheus.NewCounter(prometheus.CounterOpts{
		Name: telemetry.MetricName("nodes", "ended_total"),
		Help: "Other nodes that were silent for too long and whose turns, requests and jobs this one ended.",
	}), asked: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: telemetry.MetricName("nodes", "asked_total"),
		Help: "Requests of clients that other nodes were asked for, by what came of it: answered, unreachable, lost, or failed here.",
	}, []string{"outcome"}),
		Sent: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("nodes", "news_told_total"),
			Help: "Notifications of new events sent to other nodes."}),
		Received: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("nodes", "news_heard_total"),
			Help: "Notifications of new events received from other nodes."}),
		early: prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("nodes", "early_total"),
			Help: "Deltas of text that are not stored yet: sent to another node, received from one and shown, or dropped either way."},
			[]string{"what"})}
}

// CountingOwners forwards requests to owners and counts the outcomes.
type CountingOwners struct {
	*forward.Client
	asked *prometheus.CounterVec
}

// CountOwners counts the outcomes of the requests that client forwards to owners of sessions.
func (m Nodes) CountOwners(client *forward.Client) CountingOwners {
	return CountingOwners{client, m.asked}
}

// Ask implements api.Owners.
func (o CountingOwners) Ask(r *http.Request, owner, body string) (*http.Response, error) {
	answer, err := o.Client.Ask(r, owner, body)
	var (
		unreachable *forward.UnreachableError
		lost        *forward.LostAnswerError
	)
	switch {
	case errors.Is(err, forward.ErrClientsTurn): // no request was sent
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

// Watch registers the metrics of a lease.
func (m Nodes) Watch(lease *cluster.Lease) {
	gauge := func(name, help string, is func() bool) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: telemetry.MetricName("node", name), Help: help}, func() float64 {
			if is() {
				return 1
			}
			return 0
		})
	}
	m.registry.MustRegister(m.Ended, m.asked, m.Sent, m.Received, m.early,
		gauge("lease_sure", "1 while no other node can have taken this one for dead.", func() bool { return lease.Sure() == nil }),
		gauge("draining", "1 while this node begins nothing new.", lease.Draining))
}

// CountLiveText counts deltas of text by their outcome.
func (m Nodes) CountLiveText(what string) func(int) {
	counter := m.early.WithLabelValues(what)
	return func(parts int) { counter.Add(float64(parts)) }
}
