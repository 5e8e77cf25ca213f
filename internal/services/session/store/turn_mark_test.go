package store

import (
	"fmt"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// The count and the newest turn of a mark belong together while turns are inserted.
func TestATurnMarkIsOfOneMoment(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const turns = 300
		ctx, name := t.Context(), func(n int) string { return fmt.Sprintf("turn-%03d", n) }
		if mark, err := TurnMark(ctx, db.Read(), "s"); err != nil || mark.Turns != 0 || mark.Newest != "" {
			t.Errorf("the mark without turns is %v, %v", mark, err)
		}
		inserted := make(chan error, 1)
		go func() {
			for n := 1; n <= turns; n++ {
				err := db.Update(ctx, func(tx database.Tx) error {
					return OpenTurn(ctx, tx, Turn{SessionID: "s", TurnID: name(n), StartedAt: int64(n)})
				})
				if err != nil {
					inserted <- err
					return
				}
			}
			inserted <- nil
		}()
		for {
			mark, err := TurnMark(ctx, db.Read(), "s")
			if err != nil {
				t.Fatal(err)
			}
			if mark.Turns > 0 && mark.Newest != name(mark.Turns) {
				t.Fatalf("with %d turns, the newest is %s", mark.Turns, mark.Newest)
			}
			if mark.Turns == turns {
				break
			}
			select {
			case err := <-inserted:
				if err != nil {
					t.Fatal(err)
				}
			default:
			}
		}
	})
}
