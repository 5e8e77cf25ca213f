package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"harness/tests/bitrot"
)

// A flipped bit in the spool of a dead shim never counts as output of the runtime. A server reads the output before
// it, and then gets an error with the position. Without checksums it reads flips as text.
func TestAFlippedBitInTheSpoolIsNeverRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), spoolDir)
	s, err := newSpool(dir, 8<<10, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var said []byte
	for n := range 400 {
		line := fmt.Appendf(nil, `{"line":%d,"text":%q}`+"\n", n, bytes.Repeat([]byte("x"), n%90))
		if err := s.write(line); err != nil {
			t.Fatal(err)
		}
		said = append(said, line...)
	}
	read := func() ([]byte, error) {
		span := Spooled(Found{Dir: filepath.Dir(dir)}, 0, int64(len(said)))
		got, err := io.ReadAll(span)
		return got, errors.Join(err, span.Err(), span.Close())
	}
	if got, err := read(); err != nil || !bytes.Equal(got, said) {
		t.Fatalf("%d of %d bytes are read: %v", len(got), len(said), err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	tries := bitrot.Flips(t, 150)
	random, counts := rand.New(rand.NewPCG(8, 9)), map[string]int{}
	for range tries {
		name := files[random.IntN(len(files))]
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rotten, bit := bytes.Clone(whole), random.IntN(8*len(whole))
		rotten[bit/8] ^= 1 << (bit % 8)
		put := func(content []byte) {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(rotten)
		got, err := read()
		var damage *DamageError
		switch {
		case errors.As(err, &damage) && damage.Offset == int64(len(got)) && bytes.HasPrefix(said, got):
			counts["said"]++
		case err == nil && bytes.Equal(got, said): // in a checksum's length, with nothing after it
			counts["whole"]++
		default:
			t.Errorf("bit %d of %s: %d bytes are read, %v", bit, filepath.Base(name), len(got), err)
		}
		if filepath.Ext(name) == segmentSuffix {
			if err := os.Rename(sumPath(name), sumPath(name)+".aside"); err != nil {
				t.Fatal(err)
			}
			if got, err := read(); err == nil && !bytes.Equal(got, said) {
				counts["read without checksums"]++
			}
			if err := os.Rename(sumPath(name)+".aside", sumPath(name)); err != nil {
				t.Fatal(err)
			}
		}
		put(whole)
	}
	t.Logf("%d flips: %v", tries, counts)
	if counts["said"] < tries*9/10 || counts["read without checksums"] == 0 {
		t.Errorf("of %d flips %v", tries, counts)
	}
}
