package journal_test

import (
	"fmt"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// The cost of reads with the Postgres events in 20 partitions by position, as a ratio to the single table, alternating.
// It also measures the benefit: the oldest twentieth is dropped, instead of deleted in transactions of 500 and
// vacuumed. In partitions, the number of a session's event could not be unique: Postgres enforces that only together
// with the position.
func BenchmarkPartitionsOfEvents(b *testing.B) {
	const events, sessions, partitions = 200_000, 500, 20
	var stores [2]*database.DB
	for i := range stores {
		stores[i] = dbtest.Open(b, database.Postgres)
		migrate(b, stores[i])
	}
	each := func(db *database.DB, statements ...string) {
		b.Helper()
		for _, statement := range statements {
			if _, err := db.Raw().ExecContext(b.Context(), statement); err != nil {
				b.Fatalf("%s: %v", statement, err)
			}
		}
	}
	parted := []string{
		`drop index journal_events_session, journal_events_broadcast, journal_events_deltas`, `alter table journal_events rename to one_table`,
		`create table journal_events (like one_table, primary key (pos)) partition by range (pos)`,
		`create index on journal_events (session_id, seq)`, `create index on journal_events (pos) where broadcast = 1`,
		`create index on journal_events (session_id, item_id, pos) where type = 'runtime.notification' and meta like '%"text":{%'`,
	}
	for i := range partitions {
		parted = append(parted, fmt.Sprintf(`create table events_%d partition of journal_events for values from (%d) to (%d)`, i,
			i*events/partitions+1, (i+1)*events/partitions+1))
	}
	each(stores[1], parted...)
	for _, db := range stores {
		each(db, fmt.Sprintf(`insert into journal_events select g, g / %d + 1, 1, 's' || g %% %[1]d, 't', 'i' || g / 50,
				'runtime.notification', g, 'runtime', '', 0, '', '', '{"text":{}}', '{"text":"' || repeat(md5(g::text), 15) || '"}'
			from generate_series(1, %d) g`, sessions, events), fmt.Sprintf(`update journal_head set pos = %d`, events), `vacuum analyze journal_events`)
	}
	var took [2][2]time.Duration // for pages of a session and for the texts of an item
	reads := 0
	for b.Loop() {
		for i := range 500 {
			session := fmt.Sprintf("s%d", i*37%sessions)
			for store, db := range stores {
				log := journal.New(db, journal.Options{})
				began := time.Now()
				page, err := log.ReadSession(b.Context(), session, int64(i%200), 100)
				took[0][store] += time.Since(began)
				if err != nil || len(page) != 100 {
					b.Fatalf("%d events of %s, %v", len(page), session, err)
				}
				began = time.Now()
				_, err = log.ReadDeltas(b.Context(), db.Read(), session, fmt.Sprintf("i%d", i*37%sessions/50))
				took[1][store] += time.Since(began)
				if err != nil {
					b.Fatal(err)
				}
			}
			reads++
		}
	}
	for i, what := range []string{"page", "texts"} {
		b.ReportMetric(float64(took[i][1])/float64(took[i][0]), what+"-ratio")
		b.ReportMetric(float64(took[i][0].Microseconds())/float64(reads), what+"-us")
	}
	began := time.Now()
	for from := 1; from <= events/partitions; from += 500 {
		each(stores[0], fmt.Sprintf(`delete from journal_events where pos >= %d and pos < %d`, from, from+500))
	}
	each(stores[0], `vacuum journal_events`)
	b.ReportMetric(float64(time.Since(began).Microseconds())/(events/partitions), "delete-us/event")
	began = time.Now()
	each(stores[1], `drop table events_0`)
	b.ReportMetric(float64(time.Since(began).Microseconds())/(events/partitions), "drop-us/event")
}
