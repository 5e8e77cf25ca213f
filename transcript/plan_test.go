package transcript

import (
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// A new store has no statistics, and Postgres keeps the plan it makes then. A plan that uses another index than that
// of messages reads a whole session for each upsert.
func TestMessagesAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if db.Engine() == database.SQLite {
			return // SQLite knows that a unique index finds one row
		}
		for _, text := range []string{
			strings.Replace(foundText+foundByLateral, "{rows}", "select * from unnest(array['s'], array['m'], array['t'])", 1),
			`select ` + entryColumns + ` from transcript_entries where session_id = 's' and message_id = 'm'`,
		} {
			if plan := explain(t, db, text); !strings.Contains(plan, "using transcript_entries_message") {
				t.Errorf("the plan is\n%s", plan)
			}
		}
	})
}

func explain(t *testing.T, db *database.DB, text string) (plan string) {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), `explain `+text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
