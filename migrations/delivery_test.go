package migrations_test

import (
	"testing"

	"harness/internal/platform/database"
	"harness/migrations"
	"harness/tests/dbtest"
)

// A decision from before owners delivered decisions counts as delivered, unless its turn still runs; in that case it is
// delivered again.
func TestDecisionsFromBeforeAreDelivered(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		db := dbtest.Connect(t, dbtest.Options(t, engine))
		provider, err := migrations.NewProvider(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.UpTo(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx database.Tx) error {
			for _, statement := range []string{
				`insert into turns values ('s', 'over', 'completed', '', 'g', 'n', 1, 2), ('s', 'runs', 'inProgress', '', 'g', 'n', 1, 0)`,
				`insert into interactive_requests values
					('delivered', 'approval', 's', 'over', 'i', 'm', '', '{}', 'codex', 'g', '1', 'n', 'resolved', '{}', 'u', 5, 7),
					('perhaps', 'approval', 's', 'runs', 'i', 'm', '', '{}', 'codex', 'g', '2', 'n', 'resolved', '{}', 'u', 5, 7),
					('open', 'approval', 's', 'runs', 'i', 'm', '', '{}', 'codex', 'g', '3', 'n', 'pending', '', '', 5, 0)`,
			} {
				if _, err := tx.ExecContext(t.Context(), statement); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int64{"delivered": 7, "perhaps": 0, "open": 0} {
			var at int64
			err := db.Read().QueryRowContext(t.Context(), `select delivered_at from interactive_requests where id = $1`,
				id).Scan(&at)
			if err != nil || at != want {
				t.Errorf("%s was delivered at %d (%v), want %d", id, at, err, want)
			}
		}
	})
}
