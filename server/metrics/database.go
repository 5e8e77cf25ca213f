package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
)

// databasePage is the size of a page of SQLite's log.
const databasePage = 4096

// Database has the metrics of database writes and of moving SQLite's log into the database; the latter stay 0 on
// Postgres.
type Database struct {
	registry prometheus.Registerer
	log      prometheus.Gauge
	failures prometheus.Counter
	mended   prometheus.Counter
	Refusals prometheus.Counter
}

func newDatabaseMetrics(registry prometheus.Registerer) Database {
	m := Database{
		registry: registry,
		Refusals: prometheus.NewCounter(prometheus.CounterOpts{
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
		mended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: telemetry.MetricName("database", "mended_frames_total"),
			Help: "Frames of SQLite's write-ahead log in which a bit was flipped, and which were put right at the start.",
		}),
	}
	registry.MustRegister(m.log, m.failures, m.mended, m.Refusals)
	return m
}

// Watch registers the time since when the database refuses writes.
func (m Database) Watch(engine database.Engine, log *journal.Journal) {
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

// Follow makes the database count and log its operations on SQLite's log.
func (m Database) Follow(log zerolog.Logger, mended *atomic.Int64) func(opts *database.Options) {
	return func(opts *database.Options) {
		opts.Checkpointed = m.checkpointed(log)
		opts.Mended = func(frames int) {
			m.mended.Add(float64(frames))
			mended.Add(int64(frames))
			log.Warn().Int("frames", frames).Msg("bits of the database's log were flipped, and are put right: nothing is lost, but the disk " +
				"or the memory of this machine should be looked at")
		}
		opts.Unmarked = func(err error) {
			log.Warn().Err(err).Msg("it cannot be noted how much of the database's log is on the disk: nothing is lost, but damage to the " +
				"log may be taken for its end; look at the disk and the rights of harness.db-synced")
		}
	}
}

// checkpointed counts checkpoints, and logs the first of several consecutive failures.
func (m Database) checkpointed(log zerolog.Logger) func(pages int, err error) {
	var failing atomic.Bool
	return func(pages int, err error) {
		if failed := err != nil; failing.Swap(failed) != failed && failed {
			log.Warn().Err(err).Msg("checkpoint of the write-ahead log failed; the log grows until it succeeds")
		}
		if err != nil {
			m.failures.Inc()
			return
		}
		m.log.Set(float64(pages) * databasePage)
	}
}
