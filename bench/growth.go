package main

import (
	"context"
	"fmt"
	"time"

	"harness/database"
)

// grownContent is what entries hold here, stored before or put: rows that grow by their update would measure that, and a million of 1 KiB
// take more disk than the answer is worth.
var grownContent = oneKiB[:256]

// fill gives a session n entries by SQL, in batches.
func fill(db *database.DB, session string, n int) error {
	const batch = 50_000
	series := func(from, to int) string { return fmt.Sprintf(`generate_series(%d, %d) as n(i)`, from, to) }
	digits := `lpad(i::text, 8, '0')`
	if db.Engine() == database.SQLite {
		series = func(from, to int) string {
			return fmt.Sprintf(`(with recursive n(i) as (select %d union all select i+1 from n where i < %d) select i from n)`, from, to)
		}
		digits = `printf('%08d', i)`
	}
	for from := 0; from < n; from += batch {
		if err := db.Update(context.Background(), func(tx database.Tx) error {
			_, err := tx.ExecContext(context.Background(), `insert into transcript_entries
				(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal)
				select $1, 'old-00000000-00-' || `+digits+`, 'bench', 'assistant', 'agentMessage', $2, null, 'streaming', null, null, i + 1 from `+
				series(from, min(from+batch, n)-1), session, grownContent)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func growth(opts *options) error {
	sizes := []int{10, 10_000, 1_000_000}
	if !opts.full {
		sizes = sizes[:2]
	}
	t := newTable("Cost of one upsert of 256 bytes by the number of entries stored (8 clients; ratio of server CPU to that at 10, and of server and Postgres together)",
		"store", "entries", "updates/s", "p50 ms", "CPU µs", "ratio", "together", "new/s", "p50 ms", "CPU µs", "ratio", "together")
	for _, e := range opts.engines() {
		if e.synchronous == "NORMAL" {
			continue
		}
		var first [2]rate
		for n, size := range sizes {
			s, err := newStore(opts, e)
			if err != nil {
				return err
			}
			running, err := serve(opts, s)
			if err != nil {
				return err
			}
			got, err := grown(opts, running, size)
			running.stop()
			if err != nil {
				return err
			}
			if n == 0 {
				first = got
			}
			row := []any{e.name, size}
			for i, one := range got {
				row = append(row, one.perSecond, one.p50, one.cpu, one.cpu/first[i].cpu, (one.cpu+one.store)/(first[i].cpu+first[i].store))
			}
			t.add(row...)
		}
	}
	t.print()
	return nil
}

func grown(opts *options, running *server, size int) (got [2]rate, err error) {
	db, err := running.store.open()
	if err != nil {
		return got, err
	}
	defer db.Close()
	if err := fill(db, running.session, size); err != nil {
		return got, err
	}
	if db.Engine() == database.Postgres {
		// What autovacuum does in its own time: a table that was filled a second ago has no statistics.
		if _, err := db.Raw().Exec("vacuum analyze transcript_entries"); err != nil {
			return got, err
		}
		if _, err := db.Raw().Exec("checkpoint"); err != nil {
			return got, err
		}
	}
	time.Sleep(200 * time.Millisecond)
	if got[0], err = upsertLoad(running, 8, size, grownContent, opts.length); err != nil {
		return got, err
	}
	got[1], err = upsertLoad(running, 8, 0, grownContent, opts.length)
	return got, err
}
