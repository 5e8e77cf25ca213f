package lite_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"harness/internal/platform/database/lite"
)

// contents returns the stored rows as the other driver sees them in a copy of the files, which is what a kill would
// leave. If a connection is given, the copy has the log only up to the end that the connection knows.
func contents(t *testing.T, path, copies string, upTo ...*lite.Conn) string {
	t.Helper()
	to := filepath.Join(copies, "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix != "" && len(upTo) > 0 {
			_, end := upTo[0].LogEnd()
			text = text[:end]
		}
		if err := os.WriteFile(to+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+to+"?_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(db.Close(), os.Remove(to)); err != nil {
			t.Fatal(err)
		}
	}()
	var sound, all string
	if err := errors.Join(db.QueryRowContext(t.Context(), `pragma integrity_check`).Scan(&sound),
		db.QueryRowContext(t.Context(),
			`select coalesce(group_concat(id || '=' || length(v), ' '), '') from (select id, v from t order by id)`).Scan(
			&all)); err != nil || sound != "ok" {
		t.Fatalf("%s, %v", sound, err)
	}
	return all
}

// Once a transaction is committed, all of it is in the files, and nothing of an uncommitted one. The test covers
// transactions longer than the cache, which are written in part and written again. It also covers full and partial
// rollbacks, and a restarted log.
func TestCommittedTransactionIsInTheFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lite.db")
	conn, pool := open(t, path)
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	copies := t.TempDir()
	do := func(text string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(text, args); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	do(`pragma synchronous = off`)
	do(`pragma wal_autocheckpoint = 0`)
	do(`create table t (id integer primary key, v text not null)`)
	do(`create index t_v on t (v)`)
	random, ends := rand.New(rand.NewPCG(3, 4)), 0
	for round := range 60 {
		do(`pragma cache_size = ` + strconv.Itoa([]int{1, 4, 2000}[random.IntN(3)]))
		before := contents(t, path, copies)
		do(`begin immediate`)
		parts := 1 + random.IntN(3)
		for range parts {
			do(`savepoint s`)
			for range 1 + random.IntN(40) {
				id, long := random.IntN(60), strings.Repeat(strconv.Itoa(round), random.IntN(3000))
				switch random.IntN(4) {
				case 0:
					do(`delete from t where id = $1`, id)
				default:
					do(`insert into t (id, v) values ($1, $2) on conflict (id) do update set v = excluded.v`, id, long)
				}
				if random.IntN(10) > 0 {
					continue
				}
				// Read what was written before the transaction.
				var count int
				if err := pool.QueryRowContext(t.Context(), `select count(*) from t where length(v) >= 0`).
					Scan(&count); err != nil {
					t.Fatal(err)
				}
			}
			if random.IntN(3) == 0 {
				do(`rollback to s`)
			}
			do(`release s`)
		}
		if got := contents(t, path, copies); got != before {
			t.Fatalf("round %d: %q is there before the commit, want %q", round, got, before)
		}
		if random.IntN(4) == 0 {
			do(`rollback`)
			if got := contents(t, path, copies); got != before {
				t.Fatalf("round %d: %q is left of a transaction that was given up, want %q", round, got, before)
			}
			// Another connection writes to the place of the transaction.
			if _, err := other.ExecContext(t.Context(),
				`insert into t (id, v) values ($1, 'other') on conflict (id) do update set v = excluded.v`,
				1000+round); err != nil {
				t.Fatal(err)
			}
			continue
		}
		do(`commit`)
		var want string
		if err := pool.QueryRowContext(t.Context(),
			`select coalesce(group_concat(id || '=' || length(v), ' '), '') from (select id, v from t order by id)`).Scan(
			&want); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, path, copies); got != want {
			t.Fatalf("round %d: %q is in the files, want %q", round, got, want)
		}
		if endKnown(t, conn, path) {
			ends++
			if got := contents(t, path, copies, conn); got != want {
				t.Fatalf("round %d: %q is in the log up to where it ends, want %q", round, got, want)
			}
		}
		if random.IntN(8) == 0 {
			for _, on := range []*sql.DB{other, pool}[random.IntN(2):] {
				if _, err := on.ExecContext(t.Context(), `pragma wal_checkpoint(`+
					[]string{"passive", "restart", "truncate"}[random.IntN(3)]+`)`); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if ends < 10 {
		t.Errorf("the log's end was known after %d commits", ends)
	}
}

// endKnown reports whether a connection knows the end of the current log.
func endKnown(t *testing.T, conn *lite.Conn, path string) bool {
	t.Helper()
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	salt, end := conn.LogEnd()
	return end > 0 && salt == binary.BigEndian.Uint64(log[16:])
}
