package store

import (
	"context"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// Deleting a session also empties tables that a later migration adds, and keeps the rows of other sessions. Every name
// in keptTables is a table of the schema.
func TestADeletionEmptiesTablesThatAreAddedLater(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		do := func(write func(ctx context.Context, tx database.Tx) error) {
			t.Helper()
			if err := db.Update(t.Context(), func(tx database.Tx) error { return write(t.Context(), tx) }); err != nil {
				t.Fatal(err)
			}
		}
		do(func(ctx context.Context, tx database.Tx) error {
			for _, statement := range []string{
				`create table later_things (session_id text not null, note text not null)`,
				`insert into later_things (session_id, note) values ('gone', 'one'), ('gone', 'two'), ('stays', 'three')`,
				`insert into read_markers (reader, session_id, message_id, place, ordinal, at) values ('me', 'gone', 'm', 1, 1, 1)`,
			} {
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		})
		do(func(ctx context.Context, tx database.Tx) error { return DeleteRows(ctx, tx, db.Engine(), "gone") })
		left, err := database.ReadTexts(t.Context(), db.Read(), "read what is left",
			`select note from later_things union all select session_id from read_markers`)
		if err != nil || !slices.Equal(left, []string{"three"}) {
			t.Errorf("left %v, %v", left, err)
		}
		tables, err := tablesOfSessions(t.Context(), db.Read(), db.Engine())
		if err != nil {
			t.Fatal(err)
		}
		for _, kept := range keptTables() {
			if !slices.Contains(tables, kept) {
				t.Errorf("%s is kept, and is no table of sessions", kept)
			}
		}
		emptied := slices.DeleteFunc(tables, func(table string) bool { return slices.Contains(keptTables(), table) })
		want := []string{"background_tasks", "bulk_upserts", "interactive_requests", "later_things", "message_authors", "message_keys",
			"open_rollbacks", "queued_messages", "read_markers", "rewinds", "running_items", "runtime_messages", "session_custody",
			"session_figures", "session_lineage", "session_mail", "session_memory", "session_sources", "turns"}
		if !slices.Equal(emptied, want) {
			t.Errorf("emptied %v, want %v", emptied, want)
		}
	})
}
