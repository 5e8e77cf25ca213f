package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"harness/journal"
)

// object is a range that is being written.
type object struct {
	from, next int64
	content    bytes.Buffer
	lines      *zstd.Encoder
	hash       hash.Hash
	bytes      int // of its lines
	sessions   map[string]struct{}
	redacted   int // events of sessions that were deleted
}

func newObject(from int64) (*object, error) {
	o := &object{from: from, next: from, hash: sha256.New(), sessions: map[string]struct{}{}}
	var err error
	o.lines, err = zstd.NewWriter(&o.content, zstd.WithEncoderConcurrency(1))
	return o, err
}

// add appends the record that follows.
func (o *object) add(r *journal.Record) error {
	if r.Pos != o.next {
		return fmt.Errorf("event %d is missing in the journal: it has %d there", o.next, r.Pos)
	}
	text, err := Encode(r)
	if err != nil {
		return err
	}
	o.hash.Write(text) // never fails
	if _, err := o.lines.Write(text); err != nil {
		return err
	}
	o.bytes += len(text)
	o.next++
	if r.Type == journal.EventRedacted {
		o.redacted++
	} else if r.SessionID != "" {
		o.sessions[r.SessionID] = struct{}{}
	}
	return nil
}

// end is the range that was written; nothing is added any more.
func (o *object) end() (Range, error) {
	return Range{From: o.from, To: o.next - 1, Hash: hex.EncodeToString(o.hash.Sum(nil)), ID: rand.Text()[:8]}, o.lines.Close()
}

// Read visits the events of a range in order, until visit fails, and compares what it read with its name: only after the
// last event is it known that all of them are what was stored.
func Read(ctx context.Context, files Files, r Range, visit func(record *journal.Record) error) (err error) {
	content, err := files.Open(ctx, r.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	lines, err := zstd.NewReader(content, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer lines.Close()
	damaged := func(why string, args ...any) error {
		return fmt.Errorf("object %s is not what was stored: %w", r.Name(), fmt.Errorf(why, args...))
	}
	sum, reader, next := sha256.New(), bufio.NewReaderSize(lines, 1<<16), r.From
	for {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		if err != nil {
			return damaged("%w", err)
		}
		sum.Write(text) // never fails
		record, err := decode(text)
		if err != nil {
			return damaged("the line of event %d: %w", next, err)
		}
		if record.Pos != next {
			return damaged("event %d stands where %d should", record.Pos, next)
		}
		next++
		if err := visit(&record); err != nil {
			return err
		}
	}
	switch {
	case next != r.To+1:
		return damaged("it ends before event %d", next)
	case hex.EncodeToString(sum.Sum(nil)) != r.Hash:
		return damaged("its SHA-256 is another one")
	}
	return nil
}

// List are the ranges that files have, in order of their first event.
func List(ctx context.Context, files Files) (all []Range, err error) {
	err = files.Each(ctx, begins, func(name string, _ time.Time) error {
		if r, is := parse(name); is {
			all = append(all, r)
		}
		return nil
	})
	return all, err
}
