package artifact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"harness/internal/content/artifact"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// site is a store of one server.
type site struct {
	*artifact.Store
	t   *testing.T
	db  *database.DB
	dir string
}

func open(t *testing.T, db *database.DB, change func(*artifact.Options)) *site {
	t.Helper()
	events := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	if err := events.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := events.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &site{t: t, db: db, dir: filepath.Join(t.TempDir(), "artifacts")}
	options := artifact.Options{DB: db, Journal: events, Dir: s.dir}
	if change != nil {
		change(&options)
	}
	s.Store = artifact.New(options)
	return s
}

func (s *site) put(session, name, contentType, content string) artifact.Ref {
	s.t.Helper()
	ref, err := s.Put(s.t.Context(), session, name, contentType, []byte(content))
	if err != nil {
		s.t.Fatal(err)
	}
	return ref
}

func (s *site) read(id string) string {
	s.t.Helper()
	_, content, err := s.Open(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := io.ReadAll(content)
	if err := errors.Join(err, content.Close()); err != nil {
		s.t.Fatal(err)
	}
	return string(all)
}

// kept returns the number of stored contents, wherever they are.
func (s *site) kept() (contents int) {
	s.t.Helper()
	if s.db.Engine() == database.Postgres {
		if err := s.db.Read().QueryRowContext(s.t.Context(), `select count(distinct hash) from artifact_parts`).
			Scan(&contents); err != nil {
			s.t.Fatal(err)
		}
		return contents
	}
	err := filepath.WalkDir(s.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			contents++
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return contents
}

// AR-01, AR-02: stored bytes come back unchanged, under a reference that describes them; the same content is stored
// once.
func TestBytesComeBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, nil)
		contents := map[string]bool{}
		rapid.Check(t, func(r *rapid.T) {
			content := rapid.SliceOf(rapid.Byte()).Draw(r, "content")
			ref, err := s.Put(t.Context(), "s", "name", "text/plain", content)
			if err != nil {
				r.Fatal(err)
			}
			sum := sha256.Sum256(content)
			if ref.Hash != "sha256:"+hex.EncodeToString(sum[:]) || ref.Size != int64(len(content)) || ref.ContentType != "text/plain" {
				r.Fatalf("%+v of %d bytes", ref, len(content))
			}
			if got, err := s.Get(t.Context(), ref.ID); err != nil || got != ref {
				r.Fatalf("%+v, %v, want %+v", got, err, ref)
			}
			if s.read(ref.ID) != string(content) {
				r.Fatal("other bytes came back")
			}
			contents[ref.Hash] = true
		})
		if kept := s.kept(); kept != len(contents) {
			t.Errorf("%d contents are kept as %d", len(contents), kept)
		}
		for given, want := range map[string]string{"a/../b.txt": "b.txt", `C:\x\y.txt`: "y.txt", "": "artifact",
			"..": "artifact", "a\x00\n\"b": `a"b`} {
			if ref := s.put("s", given, "no type", "x"); ref.Name != want || ref.ContentType != "application/octet-stream" {
				t.Errorf("%q is stored as %q of %s", given, ref.Name, ref.ContentType)
			}
		}
	})
}

// AR-03: a malformed or unknown id is not found, and reaches no file.
func TestIDsLeadToTheirOwnBytesOnly(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, nil)
		ref := s.put("s", "n", "text/plain", "x")
		hash := strings.TrimPrefix(ref.Hash, "sha256:")
		for _, id := range []string{"", "..", "../../etc/passwd", hash, hash[:36], strings.ToUpper(ref.ID), ref.ID + "/",
			ref.ID + "x", ref.ID[:35], strings.Repeat("-", 36),
			"00000000-0000-0000-0000-000000000000", "../../../../../../../../../etc/passwd"[:36],
			"'; drop table artifacts; -- 000000000", "\x00"} {
			if _, err := s.Get(t.Context(), id); !errors.Is(err, artifact.ErrNotFound) {
				t.Errorf("get %q: %v", id, err)
			}
			if _, _, err := s.Open(t.Context(), id); !errors.Is(err, artifact.ErrNotFound) {
				t.Errorf("open %q: %v", id, err)
			}
		}
	})
}

// AR-04, AR-05: a content above the limit is refused with an error; the stored and hashed bytes are redacted.
func TestLimitsAndRedaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, func(o *artifact.Options) {
			o.MaxBytes = 20
			o.Redact = func(content []byte) []byte {
				return bytes.ReplaceAll(content, []byte("sk-secret"), []byte("[REDACTED]"))
			}
		})
		var large *artifact.TooLargeError
		if _, err := s.Put(t.Context(), "s", "n", "text/plain", make([]byte, 21)); !errors.As(err, &large) ||
			*large != (artifact.TooLargeError{Size: 21, Limit: 20}) || s.kept() != 0 {
			t.Errorf("21 bytes: %v", err)
		}
		ref, clean := s.put("s", "n", "text/plain", "key sk-secret"), s.put("s", "n", "text/plain", "key [REDACTED]")
		if s.read(ref.ID) != "key [REDACTED]" || ref.Hash != clean.Hash || ref.Size != 14 || s.kept() != 1 {
			t.Errorf("stored is %+v", ref)
		}
	})
}

// AR-06: another server of the same store, or the same one after a restart, has the same bytes.
func TestBytesAreThereAfterARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, nil)
		ref := s.put("s", "n", "text/plain", strings.Repeat("x", 2<<20))
		next := open(t, db, func(o *artifact.Options) {
			if db.Engine() == database.SQLite {
				o.Dir = s.dir // each server has a separate data directory; on Postgres another node uses another one
			}
		})
		if got, err := next.Get(t.Context(), ref.ID); err != nil || got != ref ||
			next.read(ref.ID) != strings.Repeat("x", 2<<20) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// Bytes are deleted with their last reference, and never while one exists.
func TestBytesGoWithTheirLastReference(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, nil)
		one, two := s.put("a", "n", "text/plain", "same"), s.put("b", "n", "text/plain", "same")
		if err := s.Remove(t.Context(), one.ID); err != nil || s.kept() != 1 || s.read(two.ID) != "same" {
			t.Errorf("with one reference left: %d kept, %v", s.kept(), err)
		}
		if removed, err := s.Prune(t.Context()); err != nil || removed != 1 || s.kept() != 0 {
			t.Errorf("of a session that is gone: %d removed, %d kept, %v", removed, s.kept(), err)
		}
		// The same content is put and removed concurrently.
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 10 {
					ref := s.put("", "n", "text/plain", "contended")
					if s.read(ref.ID) != "contended" {
						t.Error("other bytes")
					}
					if err := s.Remove(t.Context(), ref.ID); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if s.kept() != 0 {
			t.Errorf("%d contents are kept of none", s.kept())
		}
	})
}

// AR-02, AR-03: served over HTTP with type, name, hash and ranges, and never rendered as a page of this server's
// origin.
func TestArtifactsAreServed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, nil)
		ref := s.put("s", `a "b" é.html`, "text/html; charset=utf-8", "0123456789")
		ask := func(id string, download bool, header ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			if err := s.Serve(w, r, id, download); errors.Is(err, artifact.ErrNotFound) {
				w.WriteHeader(http.StatusNotFound)
			} else if err != nil {
				t.Error(err)
			}
			return w
		}
		for name, c := range map[string]struct {
			id      string
			header  []string
			status  int
			content string
		}{
			"whole":     {ref.ID, nil, 200, "0123456789"},
			"a range":   {ref.ID, []string{"Range", "bytes=2-4"}, 206, "234"},
			"its end":   {ref.ID, []string{"Range", "bytes=-3"}, 206, "789"},
			"beyond":    {ref.ID, []string{"Range", "bytes=20-"}, 416, "invalid range: failed to overlap\n"},
			"known":     {ref.ID, []string{"If-None-Match", `"` + ref.Hash + `"`}, 304, ""},
			"changed":   {ref.ID, []string{"Range", "bytes=2-4", "If-Range", `"other"`}, 200, "0123456789"},
			"malformed": {"../../secret", nil, 404, ""},
		} {
			if got := ask(c.id, false, c.header...); got.Code != c.status || got.Body.String() != c.content {
				t.Errorf("%s: %d %q", name, got.Code, got.Body)
			}
		}
		got := ask(ref.ID, true).Header()
		if got.Get("ETag") != `"`+ref.Hash+`"` || got.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.HasPrefix(got.Get("Content-Disposition"), "attachment; filename") ||
			!strings.Contains(got.Get("Content-Security-Policy"), "sandbox") || got.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the header is %v", got)
		}
	})
}

// A content with a lost file is reported as such, and never served as another one.
func TestLostBytesAreReported(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.Open(t, database.SQLite), nil)
	ref := s.put("s", "n", "text/plain", "x")
	hash := strings.TrimPrefix(ref.Hash, "sha256:")
	if err := os.Remove(filepath.Join(s.dir, hash[:2], hash)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), ref.ID); !errors.Is(err, artifact.ErrNotFound) ||
		!strings.Contains(fmt.Sprint(err), ref.ID) {
		t.Errorf("%v", err)
	}
	if again := s.put("s", "n", "text/plain", "x"); s.read(ref.ID) != "x" || again.Hash != ref.Hash {
		t.Error("stored again it is not there")
	}
}
