package server

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"harness/internal/lib/version"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/services/scrub"
)

const (
	scrubEvery = 24 * time.Hour
	// scrubRate leaves disk bandwidth for clients.
	scrubRate = 20 << 20
)

// damage tracks the known damaged rows.
type damage struct {
	*core
	scrub.Known
	since  atomic.Int64 // ms
	mended atomic.Int64 // frames of SQLite's log that were repaired at startup
	// recorded are the rows already in the audit log. Only the scrubber uses it.
	recorded map[scrub.Row]bool
}

// recordedRows is the maximum number of damaged rows that one scrub records in the audit log.
const recordedRows = 100

// damagedEvent records the position of a damaged event that a reader found.
func (s *damage) damagedEvent(pos int64) { s.foundDamage(scrub.Event(pos)) }

func (s *damage) foundDamage(row scrub.Row) {
	if !s.Add(row) {
		return
	}
	s.since.CompareAndSwap(0, s.now().UnixMilli())
	s.log.Error().Str("table", row.Table).Str("row", row.Key).Bool("missing", row.Missing).
		Msg("a row of the database is damaged and is not shown: a backup has its content, " +
			"and the disk and the memory of this machine should be checked")
}

// scrub checks all rows of SQLite. Postgres checks its pages itself.
func (s *damage) scrub(ctx context.Context) error {
	if s.db.Engine() != database.SQLite {
		return nil
	}
	s.Begin()
	var found []journal.Event
	_, err := scrub.Run(ctx, scrub.Options{DB: s.db, Rate: scrubRate, Found: func(row scrub.Row) {
		if s.foundDamage(row); !s.recorded[row] && len(found) < recordedRows {
			if s.recorded == nil {
				s.recorded = map[scrub.Row]bool{}
			}
			s.recorded[row] = true
			found = append(found, storeDamaged(row))
		}
	}})
	if err == nil && len(found) > 0 {
		_, err = s.journal.Append(ctx, found...)
	}
	if err != nil {
		return err
	}
	if s.End(); s.Len() == 0 {
		s.since.Store(0)
	}
	return nil
}

// register registers the metric of damaged rows.
func (s *damage) register(registry prometheus.Registerer) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: telemetry.MetricName("database", "damaged_rows"),
		Help: "Rows of the database that are not as they were written, as far as they were read or scrubbed.",
	}, func() float64 { return float64(s.Len()) }))
}

// storeRefused returns the event for a store outage.
func storeRefused(over journal.OutageError, until time.Time) journal.Event {
	return internalEvent("store.refused", struct {
		Engine string    `json:"engine"`
		Since  time.Time `json:"since"`
		Until  time.Time `json:"until"`
		Cause  string    `json:"cause"`
	}{string(over.Engine), over.Since.UTC(), until.UTC(), database.Reason(over.Cause)})
}

// storeMended returns the event for a repaired SQLite log.
func storeMended(frames int) journal.Event {
	return internalEvent("store.mended", struct {
		Frames int `json:"frames"`
	}{frames})
}

func storeDamaged(row scrub.Row) journal.Event {
	return internalEvent("store.damaged", struct {
		Table   string `json:"table"`
		Row     string `json:"row"`
		Missing bool   `json:"missing"`
	}{row.Table, row.Key, row.Missing})
}

// configurationLoaded returns the event for a server's configuration: the settings and their sources, without secrets.
func configurationLoaded(cfg *config.Config, nodeID string) journal.Event {
	return internalEvent("configuration.loaded", struct {
		Version  string           `json:"version"`
		Node     string           `json:"node"`
		Settings []config.Setting `json:"settings"`
	}{version.Program(), nodeID, cfg.Set()})
}

// internalEvent returns an event that no client receives.
func internalEvent(kind string, about any) journal.Event {
	payload, err := json.Marshal(about)
	if err != nil {
		panic("encode the event " + kind + ": " + err.Error()) // texts and times encode
	}
	return journal.Event{Type: kind, Source: "harness", Payload: payload}
}
