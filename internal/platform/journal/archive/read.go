package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"harness/internal/platform/journal"
)

// The memory bounds of a read. An object may come from a bucket that others can write to, and a few KiB of it may
// unpack to any length.
const (
	// maxHead bounds the part of a line before its meta. That part is held in memory; the rest of a line is streamed in
	// chunks.
	maxHead = 256 << 10
	// maxWindow is the window of the encoder that wrote the objects.
	maxWindow = 8 << 20
	// maxLines bounds the lines of an object. A range closes at 64 MiB. Its last event may be the longest line of an
	// agent (128 MiB), and escaping quotes and invalid characters may double that length twice.
	maxLines = 1 << 30
)

// Line is an archived event during a read.
type Line struct {
	// Record is the event without its Meta and Payload, which may be too long to hold in memory.
	Record journal.Record
	first  []byte
	lines  *lines
}

// WriteTo copies the line as stored, with its line break. Call it once at most, while Read visits the line.
func (l *Line) WriteTo(w io.Writer) (written int64, err error) {
	for part := l.first; ; {
		n, err := w.Write(part)
		written += int64(n)
		if err != nil || l.lines.ended {
			return written, err
		}
		if part, err = l.lines.next(); err != nil {
			return written, err
		}
	}
}

// lines reads the lines of an object in chunks.
type lines struct {
	in    *bufio.Reader
	ended bool // the last chunk contains the end of its line
	err   error
}

// next returns the next chunk, which stays valid until the following call. It returns io.EOF after the last line, and
// io.ErrUnexpectedEOF within one.
func (l *lines) next() ([]byte, error) {
	within := !l.ended
	part, err := l.in.ReadSlice('\n')
	l.ended = err == nil
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		err = nil
	case errors.Is(err, io.EOF) && (within || len(part) > 0):
		err = io.ErrUnexpectedEOF
	}
	l.err = err
	return part, err
}

// boundedReader reads up to a number of bytes, until ctx ends.
type boundedReader struct {
	ctx  context.Context //nolint:containedctx // of one Read
	in   io.Reader
	left int64
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.in.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("its lines are more than %d MiB, which none that a server stores has", maxLines>>20)
	}
	return n, err
}

// Read visits the events of a range in order until visit fails, and verifies their hash at the end. The events are
// proven intact only after the last one. A long event, or a false claim of one, costs no extra memory.
func Read(ctx context.Context, files Files, r Range, visit func(line *Line) error) (err error) {
	content, err := files.Open(ctx, r.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	unpacked, err := zstd.NewReader(content, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	sum := sha256.New()
	all := &lines{in: bufio.NewReaderSize(io.TeeReader(&boundedReader{ctx, unpacked, maxLines}, sum), maxHead), ended: true}
	damaged, failed := all.visit(r, visit)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed != nil:
		return failed
	case damaged == nil && hex.EncodeToString(sum.Sum(nil)) != r.Hash:
		damaged = errors.New("its SHA-256 is another one")
	}
	if damaged != nil {
		return fmt.Errorf("object %s is not what was stored: %w", r.Name(), damaged)
	}
	return nil
}

// visit visits each line. failed is the error of visit; damaged says why the lines do not match the range.
func (l *lines) visit(r Range, visit func(line *Line) error) (damaged, failed error) {
	for next := r.From; ; next++ {
		first, err := l.next()
		switch {
		case errors.Is(err, io.EOF) && next == r.To+1:
			return nil, nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("it ends before event %d", next), nil
		case err == nil && next > r.To:
			return fmt.Errorf("it goes on after event %d", r.To), nil
		}
		line := &Line{first: first, lines: l}
		if err == nil {
			line.Record, err = decodeHead(first)
		}
		if err != nil {
			return fmt.Errorf("the line of event %d: %w", next, err), nil
		}
		if line.Record.Pos != next {
			return fmt.Errorf("event %d stands where %d should", line.Record.Pos, next), nil
		}
		failed := visit(line)
		for failed == nil && l.err == nil && !l.ended {
			_, _ = l.next() // skips the part that visit did not read; the error is kept
		}
		if l.err != nil {
			return fmt.Errorf("the line of event %d: %w", next, l.err), nil
		}
		if failed != nil {
			return nil, failed
		}
	}
}
