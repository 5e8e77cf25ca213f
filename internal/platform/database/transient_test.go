package database

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"
)

func TestTransientIsTheStoresConditionAndNotTheTransactionsFault(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"25006": true, "55P03": true, "57014": true, "57P01": true, "53100": true, "53200": true, "53300": true,
		"25P03": true, "40001": true, "08006": true, "28P01": true, "3D000": true, "58030": true, "XX001": true,
		"42501": true, "23505": false, "22021": false, "54000": false, "42P01": false, "25P02": false, "": false,
	} {
		if got := Transient(fmt.Errorf("insert: %w", &pgconn.PgError{Code: state})); got != want {
			t.Errorf("Postgres %s: %v", state, got)
		}
	}
	for code, want := range map[int]bool{
		sqlite3.SQLITE_FULL: true, sqlite3.SQLITE_IOERR: true, sqlite3.SQLITE_IOERR_FSYNC: true,
		sqlite3.SQLITE_READONLY: true, sqlite3.SQLITE_READONLY_DBMOVED: true, sqlite3.SQLITE_CANTOPEN: true,
		sqlite3.SQLITE_BUSY_SNAPSHOT: true, sqlite3.SQLITE_CORRUPT: true, sqlite3.SQLITE_CONSTRAINT: false,
		sqlite3.SQLITE_TOOBIG: false, sqlite3.SQLITE_ERROR: false, sqlite3.SQLITE_INTERRUPT: false,
	} {
		if got := transientCode(code); got != want {
			t.Errorf("SQLite %d: %v", code, got)
		}
	}
	for _, broken := range []error{driver.ErrBadConn, sql.ErrConnDone, io.ErrUnexpectedEOF, net.ErrClosed} {
		if !Transient(fmt.Errorf("begin: %w", broken)) {
			t.Errorf("%v is not transient", broken)
		}
	}
	if Transient(nil) || Transient(errors.New("no such session")) {
		t.Error("what is no error of the store is transient")
	}
}

// A connection whose files failed is dropped: the next transaction opens the current files.
func TestReadOnlyConnectionIsDropped(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "harness.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	write := func(tx Tx) error {
		_, err := tx.ExecContext(t.Context(), `create table if not exists t (x text)`)
		return err
	}
	if err := db.Update(t.Context(), func(tx Tx) error {
		_, err := tx.ExecContext(t.Context(), `pragma query_only = on`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(t.Context(), write); !Transient(err) {
		t.Fatalf("a connection that may not write: %v", err)
	}
	if err := db.Update(t.Context(), write); err != nil {
		t.Fatalf("the next connection: %v", err)
	}
}
