package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"harness/internal/content/backup"
	"harness/internal/platform/database"
	"harness/migrations"
	"harness/tests/dbtest"
)

// archived is one file of an archive.
type archived struct {
	header  tar.Header
	content []byte
}

func readArchive(t *testing.T, file string) (files []archived) {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	for entries := tar.NewReader(content); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archived{*header, text})
	}
}

// forge writes an archive based on another one, with other files and another manifest with correct hashes.
func forge(t *testing.T, like string, change func(*backup.Manifest, []archived) []archived) string {
	t.Helper()
	files := readArchive(t, like)
	last := files[len(files)-1]
	var manifest backup.Manifest
	if err := json.Unmarshal(last.content, &manifest); err != nil {
		t.Fatal(err)
	}
	files = change(&manifest, files[:len(files)-1])
	manifest.Files = nil
	for _, file := range files {
		if file.header.Typeflag == tar.TypeReg {
			sum := sha256.Sum256(file.content)
			manifest.Files = append(manifest.Files, backup.File{Path: file.header.Name, Size: int64(len(file.content)),
				SHA256: hex.EncodeToString(sum[:])})
		}
	}
	var err error
	if last.content, err = json.Marshal(manifest); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	compressed, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	out := tar.NewWriter(compressed)
	for _, file := range append(files, last) {
		file.header.Size = int64(len(file.content))
		_, err := out.Write(nil)
		err = errors.Join(err, out.WriteHeader(&file.header))
		if _, wrong := out.Write(file.content); errors.Join(err, wrong) != nil {
			t.Fatal(err, wrong)
		}
	}
	forged := filepath.Join(t.TempDir(), "forged")
	if err := errors.Join(out.Close(), compressed.Close(), os.WriteFile(forged, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return forged
}

func column(table, of, name string) func(*backup.Manifest, []archived) []archived {
	return func(m *backup.Manifest, files []archived) []archived {
		for i := range m.Tables {
			if at := slices.Index(m.Tables[i].Columns, of); m.Tables[i].Name == table && at >= 0 {
				m.Tables[i].Columns[at] = name
			}
		}
		return files
	}
}

// Names in an archive never become part of a statement, and no file of a running server is restored. Either engine
// refuses such an archive, and nothing of it remains.
func TestAForgedArchiveIsRefused(t *testing.T) {
	t.Parallel()
	k := keep(t, database.Postgres) // so that a table has the parts of artifacts
	file := filepath.Join(t.TempDir(), "archive")
	if _, err := backup.Write(t.Context(), file, backup.Source{DB: k.db, DataDir: k.dir}); err != nil {
		t.Fatal(err)
	}
	spy := filepath.Join(t.TempDir(), "attached.db")
	extra := func(name string) func(*backup.Manifest, []archived) []archived {
		return func(_ *backup.Manifest, files []archived) []archived {
			return append(files, archived{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600}, []byte("forged")})
		}
	}
	rename := func(to string) func(*backup.Manifest, []archived) []archived {
		return func(m *backup.Manifest, files []archived) []archived {
			for i := range m.Tables {
				if m.Tables[i].Name == "projects" {
					m.Tables[i].Name = to
				}
			}
			for i := range files {
				if rest, is := strings.CutPrefix(files[i].header.Name, "database/projects/"); is {
					files[i].header.Name = "database/" + to + "/" + rest
				}
			}
			return files
		}
	}
	for name, change := range map[string]func(*backup.Manifest, []archived) []archived{
		"a statement as a column": column("projects", "name",
			`name) select 1,2,3,4,5,6; attach database '`+spy+`' as spy; create table spy.t (x); --`),
		"a quoted column":           column("projects", "name", `name", "id`),
		"an unknown column":         column("projects", "name", `nome`),
		"a column twice":            column("projects", "name", `id`),
		"no hash of a part":         column("artifact_parts", "hash", "hush"),
		"a table of SQLite's own":   rename("sqlite_master"),
		"a statement as a table":    rename(`projects (id) values ('x'); --`),
		"a table that is not kept":  rename("nodes"),
		"the store itself":          extra("data/harness.db"),
		"the log of the store":      extra("data/harness.db-wal"),
		"agents that run":           extra("data/run/1/shim.json"),
		"what a restore had begun":  extra("data/.restoring/harness.db"),
		"what was there before":     extra("data/.replaced-1/x"),
		"a schema that is to come":  func(m *backup.Manifest, f []archived) []archived { m.Schema = 100_000; return f },
		"a schema before the first": func(m *backup.Manifest, f []archived) []archived { m.Schema = -1; return f },
	} {
		forged := forge(t, file, change)
		for _, engine := range dbtest.Engines() {
			if engine == database.Postgres && !strings.HasPrefix(name, "a statement") {
				continue // names that are not part of a statement are refused elsewhere
			}
			t.Run(name+" on "+string(engine), func(t *testing.T) {
				options, dir := dbtest.Options(t, engine), t.TempDir()
				_, err := backup.Restore(t.Context(), forged, backup.Target{URL: options.URL, DataDir: dir})
				var newer *migrations.NewerSchemaError
				if !errors.Is(err, backup.ErrDamaged) && !errors.As(err, &newer) {
					t.Errorf("restored, or ended with %v", err)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%v was left (%v)", left, err)
				}
				if _, err := os.Lstat(spy); err == nil {
					t.Error("a statement of the archive ran")
				}
			})
		}
	}
}

// An archive that is a pipe is refused without blocking.
func TestAPipeIsNoArchive(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Verify(pipe); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("verified a pipe: %v", err)
	}
}

// A pipe in a folder that an agent writes does not block a backup, whatever its name and the names of its neighbors.
func TestPipesInAHomeAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	k, home := keep(t, database.SQLite), t.TempDir()
	in := func(name string) string { return filepath.Join(home, name) }
	err := errors.Join(syscall.Mkfifo(in("x"), 0o600), os.WriteFile(in("x-wal"), []byte("a"), 0o600),
		os.WriteFile(in("y"), []byte("SQLite format 3\x00"), 0o600), syscall.Mkfifo(in("y-wal"), 0o600),
		syscall.Mkfifo(in("y-shm"), 0o600), syscall.Mkfifo(in("y-journal"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	file, done := filepath.Join(t.TempDir(), "archive"), make(chan error, 1)
	go func() {
		_, err := backup.Write(ctx, file,
			backup.Source{DB: k.db, DataDir: k.dir, Homes: map[string]string{"codex": home}})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("the backup waits for a pipe")
	}
	var found []string
	for _, one := range readArchive(t, file) {
		if rest, is := strings.CutPrefix(one.header.Name, "homes/codex/"); is {
			found = append(found, rest)
		}
	}
	if want := []string{"x-wal", "y"}; !slices.Equal(found, want) {
		t.Errorf("the archive has %v of the home, want %v", found, want)
	}
}

// A file or folder that is swapped for a link during a backup adds nothing from elsewhere to the archive.
func TestSwappedLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	k, home := keep(t, database.SQLite), t.TempDir()
	secret := filepath.Join(t.TempDir(), "secrets")
	const files = 3 // few, so that each is swapped often
	swap := func(name, target string) error {
		plain, link := filepath.Join(home, name), filepath.Join(home, "."+name)
		return errors.Join(os.Symlink(target, link), os.Rename(plain, plain+".aside"), os.Rename(link, plain),
			os.Remove(plain), os.Rename(plain+".aside", plain))
	}
	err := errors.Join(os.Mkdir(secret, 0o700), os.WriteFile(filepath.Join(secret, "f"), []byte("not for you"), 0o600),
		os.Mkdir(filepath.Join(home, "d"), 0o700))
	for n := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(home, "f"+string(rune('a'+n))), []byte("mine"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	defer swapping.Wait()
	defer close(stop)
	swapping.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			err := swap("f"+string(rune('a'+n%files)), filepath.Join(secret, "f"))
			if err = errors.Join(err, swap("d", secret)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	// Each backup walks the folder once for each home. That costs less than as many backups.
	homes := map[string]string{"codex": home, "claude": home, "gemini": home, "opencode": home}
	for range 15 {
		file := filepath.Join(t.TempDir(), "archive")
		if _, err := backup.Write(t.Context(), file, backup.Source{DB: k.db, DataDir: k.dir, Homes: homes}); err != nil {
			t.Fatal(err)
		}
		for _, one := range readArchive(t, file) {
			if strings.Contains(string(one.content), "not for you") {
				t.Fatalf("%s has what a link names", one.header.Name)
			}
		}
	}
}
