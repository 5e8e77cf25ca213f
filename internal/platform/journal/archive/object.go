package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"harness/internal/platform/journal"
)

// object is a range being written.
type object struct {
	from, next int64
	content    bytes.Buffer
	lines      *zstd.Encoder
	hash       hash.Hash
	bytes      int // of its lines
	sessions   map[string]struct{}
	redacted   int // events of deleted sessions
}

func newObject(from int64) (*object, error) {
	o := &object{from: from, next: from, hash: sha256.New(), sessions: map[string]struct{}{}}
	var err error
	o.lines, err = zstd.NewWriter(&o.content, zstd.WithEncoderConcurrency(1))
	return o, err
}

// add appends the record that follows.
func (o *object) add(r *journal.Record) error {
	text, err := Encode(r)
	if err != nil {
		return err
	}
	return o.write(r, bytes.NewReader(text))
}

// write appends the line of the next record. It does not parse the record's meta and payload.
func (o *object) write(r *journal.Record, line io.WriterTo) error {
	if r.Pos != o.next {
		return fmt.Errorf("event %d is missing in the journal: it has %d there", o.next, r.Pos)
	}
	written, err := line.WriteTo(io.MultiWriter(o.hash, o.lines))
	if err != nil {
		return err
	}
	o.bytes += int(written)
	o.next++
	if r.Type == journal.EventRedacted {
		o.redacted++
	} else if r.SessionID != "" {
		o.sessions[r.SessionID] = struct{}{}
	}
	return nil
}

// end closes the range of the object.
func (o *object) end() (Range, error) {
	return Range{From: o.from, To: o.next - 1, Hash: hex.EncodeToString(o.hash.Sum(nil)), ID: rand.Text()[:8]}, o.lines.Close()
}

// List returns the ranges stored in files, in order of their first event.
func List(ctx context.Context, files Files) (all []Range, err error) {
	err = files.Each(ctx, begins, func(name string, _ time.Time) error {
		if r, is := parse(name); is {
			all = append(all, r)
		}
		return nil
	})
	return all, err
}
