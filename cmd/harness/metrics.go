package main

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/platform/telemetry"
)

// metrics are the process's own; packages report through plain functions and know no metrics library.
type metrics struct {
	registry *prometheus.Registry

	journalEvents prometheus.Counter
	journalBatch  prometheus.Histogram
	journalCommit prometheus.Histogram

	// pruned counts the rows that retention removed, by table; archived_transcripts are entries of sessions archived for
	// long.
	pruned *prometheus.CounterVec

	// archived are events that were archived, archiveFailed attempts to archive some that failed.
	archived, archiveFailed prometheus.Counter

	stream   streamMetrics
	http     httpMetrics
	database databaseMetrics
	nodes    nodeMetrics
	turns    turnMetrics
	work     workMetrics
	calls    callMetrics
	spans    spanMetrics
	notified notifyMetrics
}

func newMetrics() *metrics {
	m := &metrics{
		registry: telemetry.NewRegistry(),
		journalEvents: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("journal", "events_total"),
			Help: "Events committed by this process."}),
		journalBatch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: telemetry.MetricName("journal", "batch_units"), Help: "Units per committed batch.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		journalCommit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    telemetry.MetricName("journal", "commit_seconds"),
			Help:    "Time from the start of a batch until its subscribers were told.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 12),
		}),
		pruned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: telemetry.MetricName("retention", "rows_total"),
			Help: "Rows removed because they are kept no longer, by table.",
		}, []string{"table"}),
		archived: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("archive", "events_total"),
			Help: "Events of the journal that this process archived."}),
		archiveFailed: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("archive", "failures_total"),
			Help: "Times that events could not be archived; they are not pruned, and it is tried again."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: telemetry.MetricName("build", "info"),
		Help:        "1, labelled with what this binary was built from.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit(), "goversion": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m.journalEvents, m.journalBatch, m.journalCommit, m.pruned, m.archived, m.archiveFailed, build)
	m.stream = newStreamMetrics(m.registry)
	m.http = newHTTPMetrics(m.registry)
	m.database = newDatabaseMetrics(m.registry)
	m.nodes = newNodeMetrics(m.registry)
	m.turns, m.work = newTurnMetrics(m.registry), newWorkMetrics(m.registry)
	m.calls, m.spans = newCallMetrics(m.registry), newSpanMetrics(m.registry)
	m.notified = newNotifyMetrics(m.registry)
	return m
}

func (m *metrics) observeBatch(units, events int, took time.Duration) {
	m.journalBatch.Observe(float64(units))
	m.journalEvents.Add(float64(events))
	m.journalCommit.Observe(took.Seconds())
}
