package migrations_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/migrations"
	"harness/tests/dbtest"
)

func TestManyProcessesMigrateOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		opts := dbtest.Options(t, engine)
		lock := filepath.Join(t.TempDir(), "migrate.lock")
		var group sync.WaitGroup
		results := make(chan migrations.Result, 5)
		for range 5 {
			db := dbtest.Connect(t, opts)
			group.Go(func() {
				result, err := migrations.Up(t.Context(), db, lock)
				if err != nil {
					t.Error(err)
				}
				results <- result
			})
		}
		group.Wait()
		db := dbtest.Connect(t, opts)
		var heads int
		if err := db.Read().QueryRowContext(t.Context(), `select count(*) from journal_head`).Scan(&heads); err != nil ||
			heads != 1 {
			t.Fatalf("%d head rows, %v", heads, err)
		}
		again, err := migrations.Up(t.Context(), db, lock)
		if err != nil || again.From != again.To {
			t.Fatalf("a migrated store migrated again: %+v %v", again, err)
		}
	})
}

func TestANewerSchemaIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into goose_db_version (version_id, is_applied) values (9999, true)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "lock"))
		var newer *migrations.NewerSchemaError
		if !errors.As(err, &newer) || newer.Store != 9999 || newer.Binary < 1 ||
			!strings.Contains(err.Error(), "newer harness") {
			t.Fatalf("%v", err)
		}
	})
}
