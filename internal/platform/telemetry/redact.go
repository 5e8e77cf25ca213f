package telemetry

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"

	"harness/internal/lib/javascript"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// minSecret is the length below which a value is not redacted: hiding every "abc" would make lines unreadable and
// protect nothing. Package config refuses shorter secrets of ours.
const minSecret = 4

// Redactor replaces known secret values. It is safe for concurrent use.
type Redactor struct {
	patterns [][]byte
	longest  int
}

// NewRedactor makes a redactor for each secret in three forms: as it is, inside a JSON string, and in a URL. The JSON
// form is encoded once and twice, since raw runtime frames are logged as strings.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		once := inJSON(s)
		for _, form := range append(once, url.QueryEscape(s), url.PathEscape(s), s) {
			r.add(form)
		}
		for _, form := range once {
			for _, twice := range inJSON(form) {
				r.add(twice)
			}
		}
	}
	return r
}

func (r *Redactor) add(form string) {
	p := []byte(form)
	if slices.ContainsFunc(r.patterns, func(q []byte) bool { return bytes.Equal(p, q) }) {
		return
	}
	r.patterns = append(r.patterns, p)
	r.longest = max(r.longest, len(p))
}

// inJSON returns the encodings of s in a JSON string: with "<>&" escaped, as encoding/json does, and unescaped, as
// zerolog does.
func inJSON(s string) []string {
	escaped, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	plain := javascript.MustEncode(s)
	return []string{string(escaped[1 : len(escaped)-1]), string(plain[1 : len(plain)-1])}
}

// String redacts free text.
func (r *Redactor) String(s string) string { return string(r.replace([]byte(s), false)) }

// Line redacts a line of JSON or of free text; JSON stays valid JSON.
func (r *Redactor) Line(line []byte) []byte { return r.replace(line, isJSON(line)) }

// span is a part of a text to redact.
type span struct{ from, to int }

// replace redacts every occurrence. It joins overlapping occurrences first, so that replacing one cannot leave the end
// of another.
func (r *Redactor) replace(text []byte, isJSON bool) []byte {
	spans := r.find(text, isJSON)
	if len(spans) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	at := 0
	for _, s := range spans {
		if s.from > at || at == 0 {
			out = append(out, text[at:s.from]...)
			out = append(out, Redacted...)
		}
		at = max(at, s.to)
	}
	return append(out, text[at:]...)
}

func (r *Redactor) find(text []byte, isJSON bool) []span {
	var spans []span
	for _, p := range r.patterns {
		for at := 0; ; {
			i := bytes.Index(text[at:], p)
			if i < 0 {
				break
			}
			from := at + i
			at = from + 1
			if isJSON && insideEscape(text[:from]) {
				continue
			}
			spans = append(spans, span{from, from + len(p)})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	return spans
}

// insideEscape reports whether the next byte belongs to an escape such as \n. The bytes after it are then not the
// secret's first character, and a cut there would break the line's JSON.
func insideEscape(before []byte) bool {
	n := 0
	for n < len(before) && before[len(before)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
