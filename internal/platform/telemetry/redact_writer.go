package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// maxHeld bounds the memory for an unfinished line; see Lines.
const maxHeld = 64 << 10

// Lines returns a writer that redacts line by line before w. A line may arrive in chunks. It is held until its end, so
// that a secret split across two writes is still found. Bytes beyond 64 KiB of a line are passed on early, except for a
// tail as long as the longest secret. The writer is safe for concurrent use.
func (r *Redactor) Lines(w io.Writer) io.Writer {
	if len(r.patterns) == 0 {
		return w
	}
	return &lineWriter{redactor: r, next: w}
}

type lineWriter struct {
	redactor *Redactor
	next     io.Writer

	mu   sync.Mutex
	held []byte
}

// Write implements io.Writer; it reports all of p as written unless w failed.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			l.held = append(l.held, p...)
			break
		}
		line := p[:end]
		if len(l.held) > 0 {
			line = append(l.held, line...)
			l.held = nil
		}
		if err := l.pass(line); err != nil {
			return 0, err
		}
		p = p[end:]
	}
	return n, l.spill()
}

// spill shortens a line that does not end.
func (l *lineWriter) spill() error {
	if len(l.held) < maxHeld {
		return nil
	}
	text := l.redactor.replace(l.held, isJSON(l.held))
	// The tail may contain the start of a secret. Redacted parts stay redacted, since a marker contains no secret.
	keep := min(l.redactor.longest-1, len(text))
	cut := len(text) - keep
	l.held = append([]byte(nil), text[cut:]...)
	return l.write(text[:cut])
}

func (l *lineWriter) pass(line []byte) error {
	return l.write(l.redactor.replace(line, isJSON(line)))
}

func (l *lineWriter) write(text []byte) error {
	if _, err := l.next.Write(text); err != nil {
		return fmt.Errorf("telemetry: write a log line: %w", err)
	}
	return nil
}

func isJSON(line []byte) bool { return len(line) > 0 && line[0] == '{' }
