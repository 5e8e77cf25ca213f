package database_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/migrations"
	"harness/tests/dbtest"
)

// An existing file that is not an intact store of ours is refused with the cause and a remedy, and left unchanged.
func TestABrokenSQLiteFileIsNeverStartedOver(t *testing.T) {
	t.Parallel()
	template := storeWithContent(t)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  string
	}{
		"empty": {func(t *testing.T, path string) { resize(t, path, 0) }, "is empty (0 bytes)"},
		"empty, its log left": {func(t *testing.T, path string) { keepLog(t, path); resize(t, path, 0) },
			"is empty (0 bytes)"},
		"cut off within its header": {func(t *testing.T, path string) { resize(t, path, 60) }, "is cut off: it has 60 bytes"},
		"cut off":                   {func(t *testing.T, path string) { resize(t, path, 3*4096) }, "is cut off:"},
		"cut off within a page": {func(t *testing.T, path string) { resize(t, path, size(t, path)-1) },
			"is cut off: 1 pages of 4096 bytes are missing"},
		"cut off, its log left": {func(t *testing.T, path string) { keepLog(t, path); resize(t, path, 3*4096) },
			"is cut off:"},
		"garbage": {func(t *testing.T, path string) {
			write(t, path, 0, bytes.Repeat([]byte("garbage!"), 512))
		}, "is not a SQLite database"},
		"another text file": {func(t *testing.T, path string) { replace(t, path, "hello\n") },
			"is cut off: it has 6 bytes"},
		"a header of nonsense": {func(t *testing.T, path string) { write(t, path, 16, bytes.Repeat([]byte{0}, 84)) },
			"is damaged:"},
		"damaged tables": {func(t *testing.T, path string) {
			write(t, path, 4096, bytes.Repeat([]byte{0xa5}, 4*4096))
		}, "is damaged:"},
		"damaged tables, its log left": {func(t *testing.T, path string) {
			keepLog(t, path)
			write(t, path, 2*4096, bytes.Repeat([]byte{0xa5}, 10*4096))
		}, "is damaged:"},
		"a damaged schema": {func(t *testing.T, path string) {
			write(t, path, 100, bytes.Repeat([]byte{0xa5}, 3996))
		}, "is damaged:"},
		"missing, its log left": {func(t *testing.T, path string) { keepLog(t, path); remove(t, path) },
			"is missing, but its wal file is there"},
		"a folder": {func(t *testing.T, path string) { remove(t, path); mkdir(t, path) },
			"is a folder, not a file"},
		"another application's id": {func(t *testing.T, path string) { execute(t, path, `pragma application_id = 77`) },
			"another application (its application_id is 77)"},
		"another application's tables": {func(t *testing.T, path string) {
			remove(t, path)
			execute(t, path, `create table invoices (id integer)`)
		}, "belongs to another application: it has the tables invoices"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := dbtest.Options(t, database.SQLite)
			copyFile(t, template.Path, opts.Path)
			c.spoil(t, opts.Path)
			before := files(t, filepath.Dir(opts.Path))
			db, err := database.Open(t.Context(), opts)
			if err == nil {
				t.Fatal("opened", db.Close())
			}
			reader, refused := database.OpenReadOnly(t.Context(), opts)
			if reader != nil {
				t.Fatal("opened for reading", reader.Close())
			}
			for _, err := range []error{err, refused} {
				var refused *database.FileError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), opts.Path) ||
					!strings.Contains(err.Error(), "put back a backup") {
					t.Errorf("%T: %v", err, err)
				}
			}
			if after := files(t, filepath.Dir(opts.Path)); !maps.Equal(before, after) {
				t.Errorf("the files were changed: %v, before %v", keys(after), keys(before))
			}
		})
	}
}

// The files of a killed server are intact: a log with commits, and any number of pages that are only in the log.
func TestASoundSQLiteFileIsOpened(t *testing.T) {
	t.Parallel()
	template := storeWithContent(t)
	for name, prepare := range map[string]func(t *testing.T, path string){
		"closed":              func(*testing.T, string) {},
		"killed":              keepLog,
		"missing":             remove,
		"of an older version": func(t *testing.T, path string) { execute(t, path, `pragma application_id = 0`) },
		"without tables yet": func(t *testing.T, path string) {
			remove(t, path)
			execute(t, path, `pragma journal_mode = wal`)
		},
		"with spare bytes":                 func(t *testing.T, path string) { resize(t, path, size(t, path)+4096) },
		"killed before any page was moved": func(t *testing.T, path string) { remove(t, path); keepLog(t, path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := dbtest.Options(t, database.SQLite)
			copyFile(t, template.Path, opts.Path)
			prepare(t, opts.Path)
			db := dbtest.Connect(t, opts)
			if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "lock")); err != nil {
				t.Fatal(err)
			}
			for file := range files(t, filepath.Dir(opts.Path)) {
				if info, err := os.Stat(filepath.Join(filepath.Dir(opts.Path), file)); err == nil && info.Mode().Perm() != 0o600 &&
					strings.HasPrefix(file, "harness.db") {
					t.Errorf("%s has the mode %v", file, info.Mode())
				}
				if strings.Contains(file, ".new-") {
					t.Errorf("%s was left", file)
				}
			}
		})
	}
}

// storeWithContent returns a closed store with enough content for many pages.
func storeWithContent(t *testing.T) database.Options {
	t.Helper()
	opts := dbtest.Options(t, database.SQLite)
	db, err := database.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "lock")); err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx database.Tx) error {
		for i := range 200 {
			if _, err := tx.ExecContext(t.Context(), `insert into default_controls (id, controls) values ($1, $2)`, i+10,
				strings.Repeat("x", 1000)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return opts
}

// keepLog writes to the store and leaves its files as a killed server does.
func keepLog(t *testing.T, path string) {
	t.Helper()
	db, err := database.Open(t.Context(), database.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), `create table if not exists journal_head_copy (n bigint)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		copyFile(t, path+suffix, path+suffix+".kept")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix+".kept", path+suffix); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, to, string(content))
}

func replace(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func resize(t *testing.T, path string, bytes int64) {
	t.Helper()
	if err := os.Truncate(path, bytes); err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func write(t *testing.T, path string, at int64, content []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(content, at)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// execute runs a statement on a plain connection, without our settings.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close(), os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// files returns the contents of a folder. SQLite's shared memory is not content: it is rebuilt from the log.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, path))
		content[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func keys(files map[string]string) []string {
	var found []string
	for name, content := range files {
		found = append(found, fmt.Sprintf("%s: %d bytes", name, len(content)))
	}
	return found
}
