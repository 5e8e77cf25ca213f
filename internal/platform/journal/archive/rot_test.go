package archive_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal/archive"
	"harness/tests/bitrot"
	"harness/tests/dbtest"
)

// If a bit flips in an archived object, reading reports it, or returns exactly the stored content.
func TestFlippedBitInTheArchiveIsReported(t *testing.T) {
	t.Parallel()
	db, files := dbtest.Open(t, database.SQLite), archive.Folder{Dir: filepath.Join(t.TempDir(), "archive")}
	log := start(t, db)
	add(t, log, 300)
	run(t, archive.New(archive.Options{DB: db, Journal: log, Files: files, Events: 100}))
	all, err := archive.List(t.Context(), files)
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	var truth []byte
	for _, event := range stored(t, log)[all[0].From-1 : all[0].To] {
		line, err := archive.Encode(&event)
		if err != nil {
			t.Fatal(err)
		}
		truth = append(truth, line...)
	}
	name := filepath.Join(files.Dir, filepath.FromSlash(all[0].Name()))
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tries := bitrot.Flips(t, 150)
	random, said := rand.New(rand.NewPCG(5, 7)), 0
	for range tries {
		bit := random.IntN(8 * len(whole))
		rotten := bytes.Clone(whole)
		rotten[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(name, rotten, 0o600); err != nil {
			t.Fatal(err)
		}
		var read bytes.Buffer
		err := archive.Read(t.Context(), files, all[0], func(line *archive.Line) error {
			_, err := line.WriteTo(&read)
			return err
		})
		if err != nil {
			said++
		} else if !bytes.Equal(read.Bytes(), truth) {
			t.Errorf("bit %d: something else is read", bit)
		}
	}
	t.Logf("%d flips in %d bytes: %d said, %d without effect", tries, len(whole), said, tries-said)
	if said < tries*9/10 {
		t.Errorf("of %d flips %d are said", tries, said)
	}
}
