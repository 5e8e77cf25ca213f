package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/queue"
	"harness/stream"
)

// turnMetrics tell how turns end here.
type turnMetrics struct {
	ended *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// workSeconds are buckets from a tenth of a second to a good hour.
func workSeconds() []float64 { return prometheus.ExponentialBuckets(0.1, 2.5, 12) }

func newTurnMetrics(registry prometheus.Registerer) turnMetrics {
	m := turnMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{Name: telemetry.MetricName("turns", "ended_total"),
		Help: "Turns of this server that ended, by how."}, []string{"outcome"}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: telemetry.MetricName("runtime", "turn_seconds"),
			Help:    "How long turns of this server took, as far as their runtimes say it.",
			Buckets: workSeconds()}, []string{"runtime"})}
	for _, name := range runtimeNames() {
		m.took.WithLabelValues(name)
	}
	for _, outcome := range []runtime.TurnStatus{runtime.TurnDone, runtime.TurnFailed, runtime.TurnInterrupted} {
		m.ended.WithLabelValues(string(outcome))
	}
	registry.MustRegister(m.ended, m.took)
	return m
}

// hear counts the ends of turns that this process stored: what others did comes without Known.
func (m turnMetrics) hear(records []journal.Record) {
	for i := range records {
		event := &records[i].Event
		meta, own := event.Known.(*stream.Meta)
		if !own || event.Type != stream.EventNotification {
			continue
		}
		line, ok := stream.LineOf(event, meta)
		if !ok || string(line.Method) != `"`+wire.MethodTurnCompleted+`"` {
			continue
		}
		var ended struct {
			Turn struct {
				Status     runtime.TurnStatus
				DurationMS *float64
			}
		}
		if json.Unmarshal(line.Params, &ended) != nil {
			continue // a runtime's line that nobody can read tells of no end
		}
		switch status := ended.Turn.Status; status {
		case runtime.TurnDone, runtime.TurnFailed, runtime.TurnInterrupted:
			m.ended.WithLabelValues(string(status)).Inc()
			if took := ended.Turn.DurationMS; took != nil {
				m.took.WithLabelValues(event.Source).Observe(*took / 1000)
			}
		}
	}
}

// waiting is what waits in the store, for all servers that share it.
type waiting struct {
	approvals int64
	// asked is when the oldest of the approvals came, in ms; 0 when there is none.
	asked int64
	jobs  queue.Backlog
	// queued and running are tasks.
	queued, running int64
}

// readBacklog reads what waits; there are no jobs without a queue.
func (s *Server) readBacklog(ctx context.Context) (w waiting, err error) {
	if outage := s.journal.Outage(); outage != nil {
		return w, outage // who asks how it stands is not to wait for a store that does not answer
	}
	if w.approvals, w.asked, err = s.sessions.PendingApprovals(ctx); err == nil && s.queue.Queue != nil {
		w.jobs, err = s.queue.Backlog(ctx)
	}
	if err == nil && s.tasks != nil {
		w.queued, w.running, err = s.tasks.Open(ctx)
	}
	return w, err
}

// backlog shows what waits. While the store cannot be read it is what it was. It implements prometheus.Collector.
type backlog struct {
	read func(context.Context) (waiting, error)

	approvals, approvalAge, jobs, jobAge, tasks *prometheus.Desc

	mu   sync.Mutex
	last waiting
}

// backlogPatience is how long a scrape waits for the store.
const backlogPatience = 2 * time.Second

func newBacklog(read func(context.Context) (waiting, error)) *backlog {
	desc := func(subsystem, unit, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(telemetry.MetricName(subsystem, unit), help+" All servers of one database tell the same.", labels, nil)
	}
	return &backlog{read: read,
		approvals:   desc("approvals", "pending", "Approvals that wait for a decision."),
		approvalAge: desc("approvals", "oldest_seconds", "How long the oldest approval waits; 0 when none does."),
		jobs:        desc("queue", "jobs", "Jobs that wait and that run.", "state"),
		tasks:       desc("tasks", "open", "Tasks that wait and that run.", "state"),
		jobAge:      desc("queue", "oldest_seconds", "How long ago the oldest queued job was enqueued; 0 when none is."),
	}
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{b.approvals, b.approvalAge, b.jobs, b.jobAge, b.tasks} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (b *backlog) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), backlogPatience)
	defer cancel()
	now, err := b.read(ctx)
	b.mu.Lock()
	if err == nil {
		b.last = now
	}
	now = b.last
	b.mu.Unlock()
	show := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	show(b.approvals, float64(now.approvals))
	show(b.approvalAge, age(now.asked))
	show(b.jobs, float64(now.jobs.Queued), "queued")
	show(b.jobs, float64(now.jobs.Running), "running")
	show(b.tasks, float64(now.queued), "queued")
	show(b.tasks, float64(now.running), "running")
	show(b.jobAge, age(now.jobs.Oldest))
}

// age is how many seconds ago a time in ms was, 0 for none.
func age(at int64) float64 {
	if at == 0 {
		return 0
	}
	return max(0, time.Since(time.UnixMilli(at)).Seconds())
}
