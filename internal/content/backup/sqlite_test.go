package backup_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"harness/internal/content/backup"
	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// writesTo names a SQLite file. If set, this process writes it until it is killed, instead of running tests.
const writesTo = "HARNESS_TEST_SQLITE_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writesTo); path != "" {
		panic(writeForEver(path, os.Getenv(writesTo+"_JOURNAL")))
	}
	programtest.Main(m)
}

// writeForEver keeps two tables equal, in transactions that change pages all over the file.
func writeForEver(path, journal string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode("+journal+
		")&_pragma=wal_autocheckpoint(20)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`create table a (n integer, text text); create table b (n integer, text text)`); err != nil {
		return err
	}
	for n := 0; ; n++ {
		_, err := db.Exec(`begin immediate; insert into a values ($1, hex(randomblob(3000)));
			insert into b values ($1, hex(randomblob(3000))); delete from a where n < $1 - 50; delete from b where n < $1 - 50;
			commit`, n)
		if err != nil {
			return err
		}
		if n == 100 {
			fmt.Println("writing")
		}
	}
}

// The archive has a consistent state of a SQLite file that an agent is writing, in either of SQLite's modes.
func TestASQLiteFileInUseIsKeptWhole(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			writer := exec.CommandContext(t.Context(), os.Args[0])
			writer.Env = append(os.Environ(), writesTo+"="+filepath.Join(home, "state.sqlite"), writesTo+"_JOURNAL="+journal)
			out, err := writer.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := writer.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = writer.Process.Kill(), writer.Wait() }()
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			k := keep(t, database.SQLite)
			last := -1
			for range 8 {
				file := filepath.Join(t.TempDir(), "archive")
				if _, err := backup.Write(t.Context(), file,
					backup.Source{DB: k.db, DataDir: k.dir, Homes: map[string]string{"codex": home}}); err != nil {
					t.Fatal(err)
				}
				newHome := filepath.Join(t.TempDir(), "home")
				if _, err := backup.Restore(t.Context(), file,
					backup.Target{DataDir: t.TempDir(), Homes: map[string]string{"codex": newHome}}); err != nil {
					t.Fatal(err)
				}
				last = checkEqualTables(t, filepath.Join(newHome, "state.sqlite"), last)
			}
		})
	}
}

// checkEqualTables checks a file that writeForEver wrote, and returns its last number, which is above before.
func checkEqualTables(t *testing.T, path string, before int) int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var integrity string
	var a, b, rows int
	if err := db.QueryRow(`pragma integrity_check`).Scan(&integrity); err != nil || integrity != "ok" {
		t.Fatalf("the copy is damaged: %s (%v)", integrity, err)
	}
	if err := db.QueryRow(`select (select max(n) from a), (select max(n) from b), (select count(*) from b)`).
		Scan(&a, &b, &rows); err != nil || a != b || rows != 51 {
		t.Fatalf("half a transaction was kept: %d and %d, %d rows (%v)", a, b, rows, err)
	}
	if a <= before {
		t.Errorf("the writer came to %d, after %d: nothing was written meanwhile", a, before)
	}
	return a
}
