package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// outputError means that a run exceeded its output limit.
type outputError struct {
	what  string
	limit int64
}

// Error implements error.
func (e *outputError) Error() string {
	return fmt.Sprintf("the tool's %s is above its limit of %d bytes; it was stopped", e.what, e.limit)
}

// stream is the output of a run. It publishes each delta at once, and keeps the first part for the end. Too much output
// stops the run.
type stream struct {
	name    string
	limit   int64
	publish func(delta string) error
	stop    context.CancelCauseFunc

	mu    sync.Mutex
	kept  strings.Builder
	bytes int64
	half  []byte // the start of an incomplete character
}

// Write implements io.Writer.
func (s *stream) Write(chunk []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes += int64(len(chunk)); s.bytes > s.limit {
		err := &outputError{s.name, s.limit}
		s.stop(err)
		return 0, err
	}
	text := append(s.half, chunk...)
	whole := len(text)
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if utf8.RuneStart(text[len(text)-cut]) {
			if !utf8.FullRune(text[len(text)-cut:]) {
				whole = len(text) - cut
			}
			break
		}
	}
	s.half = append([]byte(nil), text[whole:]...)
	delta := strings.ToValidUTF8(string(text[:whole]), "\uFFFD")
	if delta == "" {
		return len(chunk), nil
	}
	if room := inlineBytes - s.kept.Len(); room > 0 {
		s.kept.WriteString(strings.ToValidUTF8(delta[:min(room, len(delta))], ""))
	}
	if err := s.publish(delta); err != nil {
		s.stop(err)
		return 0, err
	}
	return len(chunk), nil
}

// first returns the first part of the output.
func (s *stream) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String()
}
