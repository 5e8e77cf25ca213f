package transcript

import (
	"context"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// Beginning reads the start of an entry regardless of how it is stored and how long it is.
func TestBeginning(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, engine)
			contents := map[string]string{"empty": "", "short": "a \"word\"\n", "signs": strings.Repeat("\u00e9\u4e2d\\\"\x01", 4000),
				"long": strings.Repeat("0123456789", 300_000), "slashes": strings.Repeat("\\", 200_000)}
			err := db.Update(t.Context(), func(tx database.Tx) error {
				return insertAll(t.Context(), tx, contents)
			})
			if err != nil {
				t.Fatal(err)
			}
			for id, content := range contents {
				for _, bytes := range []int{0, 1, 7, 1000, 256 << 10} {
					got, there, err := Store{}.Beginning(t.Context(), db.Read(), "s", id, bytes)
					if err != nil || !there {
						t.Fatalf("%s: %v, %v", id, there, err)
					}
					want := min(bytes, len(content))
					if !strings.HasPrefix(content, got) || len(got) > want || len(got) < want-3 {
						t.Errorf("%d bytes of %s: %d, %.20q", bytes, id, len(got), got)
					}
				}
			}
			if _, there, err := (Store{}).Beginning(t.Context(), db.Read(), "s", "none", 10); there || err != nil {
				t.Errorf("an entry that is not there: %v, %v", there, err)
			}
		})
	}
}

func insertAll(ctx context.Context, tx database.Tx, contents map[string]string) error {
	for id, content := range contents {
		details := strings.Repeat("x", len(content))
		entry := Entry{MessageID: id, TurnID: "t", Role: "assistant", Type: "agentMessage", Content: content, Status: Complete,
			Details: &details}
		if _, _, err := (Store{}).Upsert(ctx, tx, "s", entry); err != nil {
			return err
		}
	}
	return nil
}
