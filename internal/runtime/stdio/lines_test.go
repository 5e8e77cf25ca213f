package stdio

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzLines reads any bytes of a process: every line is whole, valid UTF-8 and within the bound, and the offset is
// its end.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"a\nb\r\n\n", "\xff\xfe\nhalf", "no end", string(bytes.Repeat([]byte("x"), 1<<17)) +
		"\nafter\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 10
		lines := newLineReader(bytes.NewReader(data), limit)
		for {
			before := lines.offset
			line, err := lines.next()
			if errors.Is(err, errLineTooLong) {
				continue
			}
			if err != nil {
				return
			}
			if !utf8.Valid(line) || bytes.IndexByte(line, '\n') >= 0 {
				t.Fatalf("line %q", line)
			}
			raw := data[before:lines.offset]
			if want := bytes.ToValidUTF8(bytes.TrimRight(raw, "\r\n"), []byte("\uFFFD")); raw[len(raw)-1] != '\n' ||
				!bytes.Equal(line, want) {
				t.Fatalf("line %q of %q", line, raw)
			}
		}
	})
}
