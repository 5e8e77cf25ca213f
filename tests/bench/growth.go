package main

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// grownContent is the content of entries here, seeded or posted. Rows that grow with an update would measure that
// growth instead, and a million rows of 1 KiB would need too much disk space.
var grownContent = oneKiB[:256]

// fill adds n entries to a session by SQL, in batches.
func fill(db *database.DB, session string, n int) error {
	const batch = 50_000
	series := func(from, to int) string { return fmt.Sprintf(`generate_series(%d, %d) as n(i)`, from, to) }
	digits := `lpad(i::text, 8, '0')`
	if db.Engine() == database.SQLite {
		series = func(from, to int) string {
			return fmt.Sprintf(`(with recursive n(i) as (select %d union all select i+1 from n where i < %d) select i from n)`,
				from, to)
		}
		digits = `printf('%08d', i)`
	}
	for from := 0; from < n; from += batch {
		if err := db.Update(context.Background(), func(tx database.Tx) error {
			_, err := tx.ExecContext(context.Background(), `insert into transcript_entries
				(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal)
				select $1, 'old-00000000-00-' || `+digits+
				`, 'bench', 'assistant', 'agentMessage', $2, null, 'streaming', null, null, i + 1 from `+
				series(from, min(from+batch, n)-1), session, grownContent)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// growthRounds is how often each size runs with each load. The machine's speed drifts, so a ratio is computed within
// a round.
const growthRounds = 5

func growth(opts *options) error {
	sizes := []int{10, 10_000, 1_000_000}
	if !opts.full {
		sizes = sizes[:2]
	}
	t := newTable(fmt.Sprintf(
		"Cost of one upsert of 256 bytes by the number of entries stored (8 clients; server CPU, its ratio to that at 10 "+
			"in the same round, and that of server and Postgres together; medians of %d rounds)",
		growthRounds),
		"store", "entries", "updates/s", "p50 ms", "CPU µs", "ratio", "together", "new/s", "p50 ms", "CPU µs", "ratio",
		"together")
	for _, e := range opts.engines() {
		if e.synchronous == "NORMAL" {
			continue
		}
		if err := grow(opts, e, sizes, t); err != nil {
			return err
		}
	}
	t.print()
	return nil
}

// grown is a server with a number of entries, and the results of its rounds: first of updates, then of new entries.
type grown struct {
	*server
	size   int
	rounds [2][]rate
}

// grow measures all sizes on one store in turn. All rounds of updates precede the first new entry, because new
// entries would soon outnumber ten stored ones.
func grow(opts *options, e engine, sizes []int, t *table) error {
	var all []*grown
	defer func() {
		for _, g := range all {
			g.stop()
		}
	}()
	for _, size := range sizes {
		g, err := newGrown(opts, e, size)
		if err != nil {
			return err
		}
		all = append(all, g)
	}
	for load := range 2 {
		for range growthRounds {
			for _, g := range all {
				existing := g.size
				if load == 1 {
					existing = 0
				}
				got, err := upsertLoad(g.server, 8, existing, grownContent, opts.length/2)
				if err != nil {
					return err
				}
				g.rounds[load] = append(g.rounds[load], got)
			}
		}
	}
	for _, g := range all {
		row := []any{e.name, g.size}
		for load, rounds := range g.rounds {
			over := func(of func(rate) float64) float64 {
				values := make([]float64, growthRounds)
				for i, one := range rounds {
					values[i] = of(one)
				}
				return middle(values)
			}
			ratio := func(of func(rate) float64) float64 {
				values := make([]float64, growthRounds)
				for i, one := range rounds {
					values[i] = of(one) / of(all[0].rounds[load][i])
				}
				return middle(values)
			}
			cpu := func(r rate) float64 { return r.cpu }
			row = append(row, over(func(r rate) float64 { return r.perSecond }), over(func(r rate) float64 { return r.p50 }),
				over(cpu), ratio(cpu), ratio(func(r rate) float64 { return r.cpu + r.store }))
		}
		t.add(row...)
	}
	return nil
}

func newGrown(opts *options, e engine, size int) (*grown, error) {
	running, err := serve(opts, e)
	if err != nil {
		return nil, err
	}
	if err := prepare(running, size); err != nil {
		running.stop()
		return nil, err
	}
	return &grown{server: running, size: size}, nil
}

// prepare stores a number of entries.
func prepare(running *server, size int) error {
	db, err := running.store.open()
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fill(db, running.session, size); err != nil {
		return err
	}
	if db.Engine() == database.SQLite {
		return nil
	}
	// Do autovacuum's work now, because a table filled a second ago has no statistics.
	if _, err := db.Raw().Exec("vacuum analyze transcript_entries"); err != nil {
		return err
	}
	_, err = db.Raw().Exec("checkpoint")
	return err
}
