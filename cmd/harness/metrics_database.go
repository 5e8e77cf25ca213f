package main

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"harness/telemetry"
)

// databasePage is the size of a page of SQLite's log.
const databasePage = 4096

// databaseMetrics tell whether SQLite's log is moved into the database. They stay 0 on Postgres.
type databaseMetrics struct {
	log      prometheus.Gauge
	failures prometheus.Counter
}

func newDatabaseMetrics(registry prometheus.Registerer) databaseMetrics {
	m := databaseMetrics{
		log: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: telemetry.MetricName("database", "log_bytes"), Help: "SQLite's write-ahead log when it was last moved into the database.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: telemetry.MetricName("database", "checkpoint_failures_total"), Help: "Times SQLite's write-ahead log could not be moved into the database.",
		}),
	}
	registry.MustRegister(m.log, m.failures)
	return m
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
