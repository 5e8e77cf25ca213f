package database_test

import (
	"database/sql"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// More rows than one SQLite statement takes, some with NULLs, are returned as they were sent and in order.
func TestBulkKeepsRowsAndNulls(t *testing.T) {
	t.Parallel()
	statement := database.NewBulk(`with v (name, n, note) as ({rows}) select name, n, note from v`, database.Text,
		database.Int, database.Text)
	type row struct {
		name string
		n    sql.NullInt64
		note sql.NullString
	}
	var sent []row
	var args []any
	for i := range int64(21) {
		one := row{string(rune('a' + i)), sql.NullInt64{Int64: i, Valid: i%3 != 0},
			sql.NullString{String: "note", Valid: i == 20}}
		if !one.n.Valid {
			one.n.Int64 = 0
		}
		if !one.note.Valid {
			one.note.String = ""
		}
		sent, args = append(sent, one), append(args, one.name, one.n, one.note)
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var got []row
		if err := db.Update(t.Context(), func(tx database.Tx) error {
			return statement.Query(t.Context(), tx, args, func(rows *sql.Rows) error {
				var one row
				err := rows.Scan(&one.name, &one.n, &one.note)
				got = append(got, one)
				return err
			})
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, sent) {
			t.Errorf("got  %v\nsent %v", got, sent)
		}
	})
}
