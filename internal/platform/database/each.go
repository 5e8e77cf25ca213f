package database

import (
	"context"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
)

// InsertEach inserts rows (string and int64, in the order of the columns) one after the other, for rows too long to be
// in memory together. Names are quoted.
func InsertEach(ctx context.Context, tx Tx, table string, columns []string, rows iter.Seq[[]any]) error {
	if postgres, isPostgres := tx.(*postgresTx); isPostgres {
		// A separate statement for each row would encode each into separate buffers.
		if err := postgres.flush(ctx); err != nil {
			return err
		}
		return postgres.raw(func(conn *pgx.Conn) error {
			next, stop := iter.Pull(rows)
			defer stop()
			_, err := conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
				row, _ := next() // nil is the end
				return row, nil
			}))
			return err
		})
	}
	insert := `insert into ` + QuoteNames(table) + ` (` + QuoteNames(columns...) + `) values ` + placeholders(1, len(columns))
	for row := range rows {
		if _, err := tx.ExecContext(ctx, insert, row...); err != nil {
			return err
		}
	}
	return nil
}

// QuoteNames returns a list of names for a statement of either engine, each quoted, so that any text is a valid name.
func QuoteNames(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}
