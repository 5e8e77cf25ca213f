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

// The memory bounds of a read. An object may come from a bucket with other writers, and a few KiB of it may unpack to
// any length.
const (
	// maxHead bounds what a line has before its meta. It is in memory, the rest of a line passes through in chunks.
	maxHead = 256 << 10
	// maxWindow is the window of the objects' encoder.
	maxWindow = 8 << 20
	// maxLines bounds the lines of an object. A range closes with 64 MiB; its last event may be the longest line of an agent
	// (128 MiB), in which quotes and characters that are none may double the length twice.
	maxLines = 1 << 30
)

// Line is an archived event while it is read.
type Line struct {
	// Record is the event without its Meta and Payload, which may be too long to be held.
	Record journal.Record
	first  []byte
	lines  *lines
}

// WriteTo copies the line as it is stored, with its line break. It can be called once, while Read visits the line.
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
	ended bool // the last chunk has the end of its line
	err   error
}

// next is the next chunk, until the one after it; io.EOF after the last line, and io.ErrUnexpectedEOF within one.
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

// boundedReader reads so many bytes at most, while ctx lasts.
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

// Read visits the events of a range in order, until visit fails, and verifies their hash at the end. Only after the
// last event is their integrity proven. Long events, or a claim of one, cost no more memory.
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

// visit visits each line. failed is the error of visit, damaged why the lines do not match the range.
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
			_, _ = l.next() // the part that visit did not read; its error stays
		}
		if l.err != nil {
			return fmt.Errorf("the line of event %d: %w", next, l.err), nil
		}
		if failed != nil {
			return nil, failed
		}
	}
}
