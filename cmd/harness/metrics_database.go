package main

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"harness/database"
	"harness/journal"
	"harness/telemetry"
)

// databasePage is the size of a page of SQLite's log.
const databasePage = 4096

// databaseMetrics tell whether the database takes writes, and whether SQLite's log is moved into it; the latter stay 0
// on Postgres.
type databaseMetrics struct {
	registry prometheus.Registerer
	log      prometheus.Gauge
	failures prometheus.Counter
	refusals prometheus.Counter
}

func newDatabaseMetrics(registry prometheus.Registerer) databaseMetrics {
	m := databaseMetrics{
		registry: registry,
		refusals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: telemetry.MetricName("database", "refused_writes_total"),
			Help: "Transactions the database refused and that were held to be tried again.",
		}),
		log: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: telemetry.MetricName("database", "log_bytes"),
			Help: "SQLite's write-ahead log when it was last moved into the database.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: telemetry.MetricName("database", "checkpoint_failures_total"),
			Help: "Times SQLite's write-ahead log could not be moved into the database.",
		}),
	}
	registry.MustRegister(m.log, m.failures, m.refusals)
	return m
}

// watch shows since when the database refuses writes.
func (m databaseMetrics) watch(engine database.Engine, log *journal.Journal) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        telemetry.MetricName("database", "refusing_writes_since_timestamp_seconds"),
		Help:        "Since when the database refuses writes, in Unix time; 0 while it takes them.",
		ConstLabels: prometheus.Labels{"engine": string(engine)},
	}, func() float64 {
		outage := log.Outage()
		if outage == nil {
			return 0
		}
		return float64(outage.Since.UnixMilli()) / 1000
	}))
}

// checkpointed counts, and logs the first of several failures in a row.
func (m databaseMetrics) checkpointed(log zerolog.Logger) func(pages int, err error) {
	var failing atomic.Bool
	return func(pages int, err error) {
		if failed := err != nil; failing.Swap(failed) != failed && failed {
			log.Warn().Err(err).Msg("the database's log cannot be moved into the database; it grows until it can")
		}
		if err != nil {
			m.failures.Inc()
			return
		}
		m.log.Set(float64(pages) * databasePage)
	}
}
