package artifact_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/content/artifact"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// An image of a session is stored once, in the transaction that refers to it; a failed transaction adds no reference.
func TestImagesAreKeptOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, nil)
		png := []byte("\x89PNG\r\n\x1a\n and the rest")
		keep := func(session string, then error) (id string, err error) {
			err = s.db.Update(t.Context(), func(tx database.Tx) error {
				if id, err = s.KeepImage(t.Context(), tx, session, png); err != nil {
					return err
				}
				return then
			})
			return id, err
		}
		undone := errors.New("undone")
		lost, err := keep("a", undone)
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), lost); !errors.Is(err, artifact.ErrNotFound) {
			t.Errorf("an image of a transaction that failed: %v", err)
		}
		first, err := keep("a", nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := keep("a", nil)
		if err != nil || again != first {
			t.Errorf("the same image is %s and %s: %v", first, again, err)
		}
		if other, err := keep("b", nil); err != nil || other == first {
			t.Errorf("the image of another session is the same one: %v", err)
		}
		ref, content, err := s.Open(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil || string(stored) != string(png) ||
			ref.ContentType != "image/png" || ref.SessionID != "a" {
			t.Errorf("stored are %q as %+v: %v", stored, ref, err)
		}
	})
}

// An image that is too long, or with bytes that cannot be written, leaves the transaction as it was.
func TestImagesThatAreNotKept(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, db, func(o *artifact.Options) { o.Dir, o.MaxBytes = blocked, 16 })
	err := db.Update(t.Context(), func(tx database.Tx) error {
		var tooLarge *artifact.TooLargeError
		if _, err := s.KeepImage(t.Context(), tx, "a", make([]byte, 17)); !errors.As(err, &tooLarge) {
			t.Errorf("one that is too long: %v", err)
		}
		var unwritten *artifact.BytesError
		if _, err := s.KeepImage(t.Context(), tx, "a", make([]byte, 16)); !errors.As(err, &unwritten) {
			t.Errorf("one that cannot be written: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
