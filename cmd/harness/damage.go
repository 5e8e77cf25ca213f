package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/database"
	"harness/internal/scrub"
	"harness/telemetry"
)

const (
	scrubEvery = 24 * time.Hour
	// scrubRate leaves a disk to those who wait for it.
	scrubRate = 20 << 20
)

// damage is what is known of rows that are not as they were written.
type damage struct {
	scrub.Known
	since atomic.Int64 // ms
}

// damagedEvent is for the position of an event that a reader came across.
func (s *Server) damagedEvent(pos int64) { s.foundDamage(scrub.Event(pos)) }

func (s *Server) foundDamage(row scrub.Row) {
	if !s.damage.Add(row) {
		return
	}
	s.damage.since.CompareAndSwap(0, s.now().UnixMilli())
	s.log.Error().Str("table", row.Table).Str("row", row.Key).Bool("missing", row.Missing).
		Msg("a row of the database is not as it was written, so it is not shown: what it said is in a backup, " +
			"and the disk and the memory of this machine should be looked at")
}

// scrub looks at all rows of SQLite. Postgres looks at its pages itself.
func (s *Server) scrub(ctx context.Context) error {
	if s.db.Engine() != database.SQLite {
		return nil
	}
	s.damage.Begin()
	if _, err := scrub.Run(ctx, scrub.Options{DB: s.db, Found: s.foundDamage, Rate: scrubRate}); err != nil {
		return err
	}
	if s.damage.End(); s.damage.Len() == 0 {
		s.damage.since.Store(0)
	}
	return nil
}

// watchDamage shows how many rows are damaged.
func (s *Server) watchDamage(registry prometheus.Registerer) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: telemetry.MetricName("database", "damaged_rows"),
		Help: "Rows of the database that are not as they were written, as far as they were read or scrubbed.",
	}, func() float64 { return float64(s.damage.Len()) }))
}
