package scrub_test

import (
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/services/scrub"
	"harness/tests/dbtest"
	"harness/transcript"
)

// A scrub concurrent with writers finds nothing: a long entry that is rewritten between the reads of its row and its
// parts is not damaged.
func TestAScrubBesideWritersFindsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		written := make(chan error, 1)
		go func() {
			var err error
			for n := 0; n < 40 && err == nil; n++ {
				err = db.Update(t.Context(), func(tx database.Tx) error {
					_, _, err := transcript.Store{}.Upsert(t.Context(), tx, "s", transcript.Entry{MessageID: "m", TurnID: "t", Role: "system",
						Type: "ci", Status: transcript.Complete, Content: strings.Repeat(string(rune('a'+n%26)), 2*database.PartBytes)})
					return err
				})
			}
			written <- err
		}()
		for {
			if _, err := scrub.Run(t.Context(), scrub.Options{DB: db, Found: func(row scrub.Row) { t.Error(row) }}); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-written:
				if err != nil {
					t.Fatal(err)
				}
				return
			default:
			}
		}
	})
}
