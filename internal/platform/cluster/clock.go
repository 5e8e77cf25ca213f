package cluster

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// clock returns the SQL expression for the store's own time in ms.
func clock(db *database.DB) string {
	if db.Engine() == database.Postgres {
		return `(extract(epoch from clock_timestamp()) * 1000)::bigint`
	}
	return `cast(unixepoch('subsec') * 1000 as integer)`
}

// clockServer is the SQL expression that identifies the server of the clock: another server, or a restarted one, has
// another start time.
const clockServer = `(extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint`

// noteClock records since when the clock of the answering server decides about leases. The very first clock counts as
// if it had always decided.
func noteClock(ctx context.Context, db *database.DB, tx database.Tx) error {
	if db.Engine() != database.Postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `update node_clock set since = case when server = 0 then 0 else `+clock(db)+` end,
		server = `+clockServer+` where server <> `+clockServer)
	if err != nil {
		return fmt.Errorf("note whose clock decides about leases: %w", err)
	}
	return nil
}

// trusted returns the SQL condition that the current clock has decided about leases for one lease's duration, the
// statement's parameter in ms. Before that, leases of live nodes may seem expired. The clock may be ahead of the
// previous one, or the node could not renew its lease before the server was back.
func trusted(db *database.DB, parameter string) string {
	if db.Engine() != database.Postgres {
		return parameter + ` >= 0`
	}
	return `exists (select 1 from node_clock where server = ` + clockServer + ` and since + ` + parameter + ` <= ` + clock(db) + `)`
}
