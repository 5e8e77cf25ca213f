package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"harness/internal/platform/journal/archive"
)

// readBytes bounds the memory for reading or verifying an object, whatever it contains.
const readBytes = 32 << 20

// head is the start of an event's line.
const head = `{"pos":1,"seq":1,"schemaVersion":2,"sessionId":"s","type":"t","time":1,"source":"test","meta":{},"payload":"`

// stranger stores an object that no Archiver made, under the name that an Archiver would use: a beginning, a letter
// repeated for some MiB, and an end.
func stranger(t *testing.T, files archive.Files, window []byte, begin, letter string, mebibytes int, end string) archive.Range {
	t.Helper()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	// Frames may follow one another, so the long middle part is compressed only once.
	chunk := bytes.Repeat([]byte(letter), 1<<20)
	compressed, sum := encoder.EncodeAll(chunk, nil), sha256.New()
	content := encoder.EncodeAll([]byte(begin), window)
	sum.Write([]byte(begin))
	for range mebibytes {
		content = append(content, compressed...)
		sum.Write(chunk)
	}
	sum.Write([]byte(end))
	content = encoder.EncodeAll([]byte(end), content)
	r := archive.Range{From: 1, To: 1, Hash: hex.EncodeToString(sum.Sum(nil)), ID: "STRANGER"}
	if err := files.Put(t.Context(), r.Name(), content); err != nil {
		t.Fatal(err)
	}
	return r
}

// A row with the longest line of an agent (128 MiB), and one three times as long, cost no more memory than a short one.
// An object that is larger than a server stores is refused, and so is one that needs more memory for decompression. Not
// parallel: it measures memory.
func TestALongRowIsNotHeldInMemory(t *testing.T) {
	for name, test := range map[string]struct {
		window             []byte // a frame before all others
		begin, letter, end string
		mebibytes          int
		refused            string
	}{
		"an ordinary row":          {begin: head, letter: "x", mebibytes: 1, end: "\"}\n"},
		"the longest legal row":    {begin: head, letter: "x", mebibytes: 128, end: "\"}\n"},
		"three times the longest":  {begin: head, letter: "x", mebibytes: 400, end: "\"}\n"},
		"a bomb":                   {begin: head, letter: "x", mebibytes: 1100, end: "\"}\n", refused: "more than 1024 MiB"},
		"a bomb of no event":       {letter: "\x00", mebibytes: 400, refused: "the line of event 1"},
		"a head without an end":    {begin: `{"type":"`, letter: "x", mebibytes: 400, refused: "the line of event 1"},
		"a row without a line end": {begin: head, letter: "x", mebibytes: 1, refused: "unexpected EOF"},
		// The header of a frame with a window of 512 MiB, and an empty last block.
		"a large window": {window: []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0x98, 1, 0, 0}, begin: head, letter: "x", mebibytes: 1, end: "\"}\n",
			refused: "window size exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := archive.Folder{Dir: t.TempDir()}
			r := stranger(t, folder, test.window, test.begin, test.letter, test.mebibytes, test.end)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read := int64(0)
			err := archive.Read(t.Context(), folder, r, func(line *archive.Line) error {
				n, err := line.WriteTo(io.Discard)
				read += n
				return err
			})
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > readBytes {
				t.Errorf("reading took %d MiB of memory", took>>20)
			}
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), r.Name()) {
					t.Errorf("refused with %v, want %q", err, test.refused)
				}
				return
			}
			if want := int64(len(test.begin) + test.mebibytes<<20 + len(test.end)); err != nil || read != want {
				t.Errorf("read are %d bytes of %d: %v", read, want, err)
			}
		})
	}
}
