// Package metrics has the metrics of the server that no other package registers itself.
//
// It owns their names, labels and help texts. It must never know who reads them, nor how a counted part works.
package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/lib/version"
	"harness/internal/platform/telemetry"
)

// Metrics are the metrics of the process. Packages report through plain functions and do not depend on a metrics
// library.
type Metrics struct {
	Registry *prometheus.Registry

	journalEvents prometheus.Counter
	journalBatch  prometheus.Histogram
	journalCommit prometheus.Histogram

	// Pruned counts the rows that retention removed, by table; archived_transcripts counts entries of long-archived
	// sessions.
	Pruned *prometheus.CounterVec

	// Archived counts archived events; ArchiveFailed counts failed attempts to archive events.
	Archived, ArchiveFailed prometheus.Counter

	Stream   Stream
	HTTP     HTTP
	Database Database
	Nodes    Nodes
	Turns    Turns
	Work     Work
	Calls    Calls
	Spans    Spans
	Notified Notify
	Doors    Doors
}

// New registers every metric; runtimes are the label values for runtimes.
func New(runtimes []string) *Metrics {
	m := &Metrics{
		Registry: telemetry.NewRegistry(),
		journalEvents: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("journal", "events_total"),
			Help: "Events committed by this process."}),
		journalBatch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: telemetry.MetricName("journal", "batch_units"), Help: "Units per committed batch.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		journalCommit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    telemetry.MetricName("journal", "commit_seconds"),
			Help:    "Time from the start of a batch until its subscribers were notified.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 12),
		}),
		Pruned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: telemetry.MetricName("retention", "rows_total"),
			Help: "Rows removed because they are kept no longer, by table.",
		}, []string{"table"}),
		Archived: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("archive", "events_total"),
			Help: "Events of the journal that this process archived."}),
		ArchiveFailed: prometheus.NewCounter(prometheus.CounterOpts{Name: telemetry.MetricName("archive", "failures_total"),
			Help: "Times that events could not be archived; they are not pruned, and it is tried again."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: telemetry.MetricName("build", "info"),
		Help:        "1, labelled with what this binary was built from.",
		ConstLabels: prometheus.Labels{"version": version.Program(), "commit": version.Commit(), "goversion": runtime.Version()}})
	build.Set(1)
	m.Registry.MustRegister(m.journalEvents, m.journalBatch, m.journalCommit, m.Pruned, m.Archived, m.ArchiveFailed, build)
	m.Stream = newStreamMetrics(m.Registry)
	m.HTTP = newHTTPMetrics(m.Registry)
	m.Database = newDatabaseMetrics(m.Registry)
	m.Nodes = newNodeMetrics(m.Registry)
	m.Turns, m.Work = newTurnMetrics(m.Registry, runtimes), newWorkMetrics(m.Registry)
	m.Calls, m.Spans = newCallMetrics(m.Registry), newSpanMetrics(m.Registry)
	m.Notified, m.Doors = newNotifyMetrics(m.Registry), newDoorMetrics(m.Registry)
	return m
}

// ObserveBatch counts a transaction of the journal: its units, events and duration.
func (m *Metrics) ObserveBatch(units, events int, took time.Duration) {
	m.journalBatch.Observe(float64(units))
	m.journalEvents.Add(float64(events))
	m.journalCommit.Observe(took.Seconds())
}
