package backup_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/content/artifact"
	"harness/internal/content/backup"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/bitrot"
	"harness/tests/dbtest"
)

// kept is a store with rows of every kind of text, an artifact of several parts, and files.
type kept struct {
	db      *database.DB
	dir     string
	ref     artifact.Ref
	content []byte
}

// odd are texts that encodings change.
const odd = "a\u2028<&>\"\\\x010\x7f é\n"

func keep(t *testing.T, engine database.Engine) kept {
	t.Helper()
	return keepIn(t, engine, nil)
}

// keepIn is keep with the artifact in an object store, unless that is nil.
func keepIn(t *testing.T, engine database.Engine, objects artifact.Objects) kept {
	t.Helper()
	k := kept{db: dbtest.Open(t, engine), dir: t.TempDir(), content: bytes.Repeat([]byte("0123456789"), 200_000)}
	events := journal.New(k.db, journal.Options{Logger: zerolog.Nop()})
	if err := events.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	store := artifact.New(artifact.Options{DB: k.db, Journal: events, Dir: filepath.Join(k.dir, "artifacts"),
		Objects: objects})
	var err error
	k.ref, err = store.Put(t.Context(), "s", "long", "text/plain", k.content)
	if err := errors.Join(err, events.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	err = k.db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(),
			`insert into projects (id, name, name_key, working_directory, created_at, updated_at)
			values ('p', $1, 'k', null, 9007199254740993, -1)`, odd)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"audit.key": "secret", "native/s.lines": strings.Repeat("x", 5<<20),
		"run/1/spool": "gone"} {
		file := filepath.Join(k.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func (k kept) check(t *testing.T, db *database.DB, dir string) {
	t.Helper()
	var (
		name            string
		folder          sql.NullString
		created, before int64
	)
	if err := db.Read().QueryRowContext(t.Context(),
		`select name, working_directory, created_at, updated_at from projects`).
		Scan(&name, &folder, &created, &before); err != nil || name != odd || folder.Valid || created != 9007199254740993 ||
		before != -1 {
		t.Errorf("the project came back as %q %v %d %d (%v)", name, folder, created, before, err)
	}
	store := artifact.New(artifact.Options{DB: db, Dir: filepath.Join(dir, "artifacts")})
	ref, content, err := store.Open(t.Context(), k.ref.ID)
	if err != nil || ref != k.ref {
		t.Fatalf("the artifact: %+v, %v", ref, err)
	}
	defer content.Close()
	var found bytes.Buffer
	if _, err := found.ReadFrom(content); err != nil || !bytes.Equal(found.Bytes(), k.content) {
		t.Errorf("its content has %d bytes (%v)", found.Len(), err)
	}
}

// An archive from either engine restores to either engine, exactly, with the contents of artifacts and the files.
func TestAnArchiveGoesBackToEitherEngine(t *testing.T) {
	t.Parallel()
	for _, from := range dbtest.Engines() {
		k := keep(t, from)
		file := filepath.Join(t.TempDir(), "archive")
		home := t.TempDir()
		codexState(t, home)
		made, err := backup.Write(t.Context(), file,
			backup.Source{DB: k.db, DataDir: k.dir, Homes: map[string]string{"codex": home}})
		if err != nil {
			t.Fatal(err)
		}
		if len(made.Omitted) != 1 || made.Omitted[0].What != filepath.Join(k.dir, "run") {
			t.Errorf("omitted: %v", made.Omitted)
		}
		for _, to := range dbtest.Engines() {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				options := dbtest.Options(t, to)
				dir, newHome := t.TempDir(), filepath.Join(t.TempDir(), "home")
				_, err := backup.Restore(t.Context(), file, backup.Target{URL: options.URL, DataDir: dir,
					Homes: map[string]string{"codex": newHome}})
				if err != nil {
					t.Fatal(err)
				}
				if options.URL == "" {
					options.Path = filepath.Join(dir, "harness.db")
				}
				k.check(t, dbtest.Connect(t, options), dir)
				checkCodexState(t, newHome)
				if key, err := os.ReadFile(filepath.Join(dir, "audit.key")); err != nil || string(key) != "secret" {
					t.Errorf("the key: %q, %v", key, err)
				}
				if info, err := os.Stat(filepath.Join(dir, "native", "s.lines")); err != nil || info.Size() != 5<<20 ||
					info.Mode().Perm() != 0o600 {
					t.Errorf("the native lines: %v, %v", info, err)
				}
				if _, err := os.Stat(filepath.Join(dir, "run")); err == nil || backup.Unfinished(dir) {
					t.Error("what ran came back, or something is left")
				}
			})
		}
	}
}

// codexState makes a SQLite file that is in use, with its rows in its log.
func codexState(t *testing.T, home string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "state.sqlite")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`create table threads (id text); insert into threads values ('one')`); err != nil {
		t.Fatal(err)
	}
}

func checkCodexState(t *testing.T, home string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "state.sqlite")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var id string
	if err := db.QueryRow(`select id from threads`).Scan(&id); err != nil || id != "one" {
		t.Errorf("codex's state has %q (%v)", id, err)
	}
}

// An archive that is damaged anywhere, or truncated, is refused before anything is written.
func TestADamagedArchiveIsRefused(t *testing.T) {
	t.Parallel()
	k := keep(t, database.SQLite)
	file := filepath.Join(t.TempDir(), "archive")
	if _, err := backup.Write(t.Context(), file, backup.Source{DB: k.db, DataDir: k.dir}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tries := map[string][]byte{"empty": nil, "no archive": []byte("hello"), "cut off": whole[:len(whole)-10]}
	for n := range 16 {
		flipped := bytes.Clone(whole)
		flipped[(2*n+1)*len(whole)/32] ^= 4
		tries[fmt.Sprint("flipped ", n)] = flipped
	}
	for name, content := range tries {
		broken, dir := filepath.Join(t.TempDir(), "broken"), t.TempDir()
		if err := os.WriteFile(broken, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := backup.Restore(t.Context(), broken, backup.Target{DataDir: dir})
		if err == nil && strings.HasPrefix(name, "flipped") { // some bits of the compression have no effect
			k.check(t, dbtest.Connect(t, database.Options{Path: filepath.Join(dir, "harness.db")}), dir)
			continue
		}
		if !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v was left (%v)", name, left, err)
		}
	}
}

// Verify finds a flipped bit in an archive, unless the flip leaves the content unchanged.
func TestAFlippedBitInABackupIsFound(t *testing.T) {
	t.Parallel()
	k := keep(t, database.SQLite)
	file := filepath.Join(t.TempDir(), "archive")
	if _, err := backup.Write(t.Context(), file, backup.Source{DB: k.db, DataDir: k.dir}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	truth, tries := readArchive(t, file), bitrot.Flips(t, 100)
	random, found := rand.New(rand.NewPCG(6, 7)), 0
	for range tries {
		rotten, bit := bytes.Clone(whole), random.IntN(8*len(whole))
		rotten[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(file, rotten, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Verify(file); err != nil {
			found++
		} else if !reflect.DeepEqual(readArchive(t, file), truth) {
			t.Errorf("bit %d: another archive is verified", bit)
		}
	}
	t.Logf("%d flips in %d bytes: %d found, %d without effect", tries, len(whole), found, tries-found)
	if found < tries*9/10 {
		t.Errorf("of %d flips %d are found", tries, found)
	}
}

// An interrupted restore is detected, and can be restarted.
func TestARestoreThatWasBrokenOffIsBegunAnew(t *testing.T) {
	t.Parallel()
	k := keep(t, database.SQLite)
	file, dir := filepath.Join(t.TempDir(), "archive"), t.TempDir()
	if _, err := backup.Write(t.Context(), file, backup.Source{DB: k.db, DataDir: k.dir}); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Mkdir(filepath.Join(dir, ".restoring"), 0o700),
		os.WriteFile(filepath.Join(dir, "audit.key"), []byte("half"), 0o600))
	if err != nil || !backup.Unfinished(dir) {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), file, backup.Target{DataDir: dir}); err != nil || backup.Unfinished(dir) {
		t.Fatal(err)
	}
	k.check(t, dbtest.Connect(t, database.Options{Path: filepath.Join(dir, "harness.db")}), dir)
	if _, err := backup.Restore(t.Context(), file, backup.Target{DataDir: dir}); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("restored over what is there: %v", err)
	}
}
