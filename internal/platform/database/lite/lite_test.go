package lite_test

import (
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"harness/internal/platform/database/lite"
)

func open(t *testing.T, path string) (*lite.Conn, *sql.DB) {
	t.Helper()
	conn, err := lite.Open("file:"+path, "busy_timeout(1000)", "journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(conn.Connector())
	t.Cleanup(func() {
		if err := errors.Join(pool.Close(), conn.Close(), conn.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn, pool
}

// The driver of database/sql reads every stored value as if it had stored it, and vice versa.
func TestValuesAreThoseOfTheOtherDriver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lite.db")
	ours, pool := open(t, path)
	theirs, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	type kind string
	values := []any{nil, int64(math.MinInt64), 7, true, false, 1.5, "", "\x00", "a\x00b", strings.Repeat("é", 1<<20),
		[]byte{0, 255}, kind("named"), sql.NullString{}, sql.NullString{String: "given", Valid: true}, sql.NullInt64{},
		sql.NullInt64{Int64: -1, Valid: true}}
	if _, err := ours.Exec(`create table v (id integer primary key, ours, theirs)`, nil); err != nil {
		t.Fatal(err)
	}
	for i, value := range values {
		result, err := ours.Exec(`insert into v (ours, id) values ($2, $1)`, []any{i, value})
		if err != nil {
			t.Fatalf("%T: %v", value, err)
		}
		id, _ := result.LastInsertId()
		if rows, _ := result.RowsAffected(); rows != 1 || id != int64(i) {
			t.Errorf("%d rows, id %d", rows, id)
		}
		if _, err := theirs.ExecContext(t.Context(), `update v set theirs = ? where id = ?`, value, i); err != nil {
			t.Fatalf("%T: %v", value, err)
		}
	}
	for _, reader := range []*sql.DB{pool, theirs} {
		rows, err := reader.QueryContext(t.Context(),
			`select id, ours, theirs, typeof(ours) = typeof(theirs) from v order by id`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		count := 0
		for ; rows.Next(); count++ {
			var id int
			var a, b any
			var same bool
			if err := rows.Scan(&id, &a, &b, &same); err != nil || !same || !reflect.DeepEqual(a, b) {
				t.Errorf("%v: %T and %T, of one kind: %t, %v", id, a, b, same, err)
			}
		}
		if err := rows.Err(); err != nil || count != len(values) {
			t.Errorf("%d rows, %v", count, err)
		}
	}
}

// A query may be run again while its rows are read, with other statements in between, and each keeps its own
// parameters.
func TestRowsStayOpen(t *testing.T) {
	t.Parallel()
	ours, pool := open(t, filepath.Join(t.TempDir(), "lite.db"))
	const query = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 3) select $1 || i from n`
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	outer, err := conn.QueryContext(t.Context(), query, "outer")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outer.Close() }()
	got := ""
	for outer.Next() {
		var text, inner string
		if err := outer.Scan(&text); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRowContext(t.Context(), query, "inner").Scan(&inner); err != nil {
			t.Fatal(err)
		}
		if _, err := ours.Exec(`select $1`, []any{strings.Repeat("x", 1<<20)}); err != nil {
			t.Fatal(err)
		}
		got += text + inner + " "
	}
	if err := outer.Err(); err != nil || got != "outer1inner1 outer2inner1 outer3inner1 " {
		t.Errorf("%q, %v", got, err)
	}
	if kept := ours.Statements(); kept != 2 {
		t.Errorf("%d statements are kept", kept)
	}
}

// Errors have the same texts and codes as from the driver of database/sql, and leave the statement ready for the next
// run.
func TestErrorsAreThoseOfTheOtherDriver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lite.db")
	ours, _ := open(t, path)
	theirs, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	if _, err := ours.Exec(`create table t (id integer primary key, v text not null check (v <> 'bad'))`,
		nil); err != nil {
		t.Fatal(err)
	}
	const insert = `insert into t (id, v) values ($1, $2)`
	for _, c := range []struct {
		text string
		args []any
	}{
		{insert, []any{1, nil}}, {insert, []any{1, "bad"}}, {insert, []any{"no number", "v"}}, {`no statement`, nil},
		{`select missing from t`, nil},
	} {
		_, err := ours.Exec(c.text, c.args)
		_, want := theirs.ExecContext(t.Context(), c.text, c.args...)
		var code, wanted interface{ Code() int }
		if !errors.As(err, &code) || !errors.As(want, &wanted) || code.Code() != wanted.Code() ||
			err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", c.text, err, want)
		}
	}
	for _, c := range []struct {
		text string
		args []any
	}{{insert, []any{1}}, {insert, []any{1, "v", 2}}, {insert, []any{1, struct{}{}}}, {`select 1; select 2`, nil},
		{`select :name`, []any{1}}} {
		if _, err := ours.Exec(c.text, c.args); err == nil || errors.As(err, new(*sqlite.Error)) {
			t.Errorf("%s with %d arguments: %v", c.text, len(c.args), err)
		}
	}
	if _, err := ours.Exec(insert+"; \n", []any{1, "v"}); err != nil {
		t.Error(err)
	}
	if _, err := lite.Open("file:" + t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}
