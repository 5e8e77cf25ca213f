package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
)

// Elided has the omitted parts of a line, so that a translator can copy the rest cheaply. They are the middles of its
// long texts, as slices of the line. nil when Elide omitted nothing.
type Elided struct {
	ends  int
	texts map[string][]byte // by their markers
}

// elidedFrom is the minimum size in bytes of a text that Elide shortens.
const elidedFrom = 1 << 20

// markerBegin is the prefix of the marker for a text's middle, for readers that keep only the ends.
const markerBegin = "[harness left out "

// Markers use a seed that no agent can know: none can forge another text's marker.
var markerSeed = sync.OnceValue(maphash.MakeSeed)

// Elide returns a line with its long texts shortened. At least the given number of bytes stays at each end of a text.
// A translator that keeps no more from either end gets the same as from the whole line. Elide does not change a short
// line, a line that is not JSON, or values of the members in whole. Restore uses the line, so it must not change
// afterwards.
func Elide(line []byte, ends int, whole ...string) ([]byte, *Elided) {
	if len(line) < elidedFrom || !json.Valid(line) {
		return line, nil
	}
	e := &Elided{ends: ends, texts: map[string][]byte{}}
	short := e.shorten(line, whole)
	if len(e.texts) == 0 {
		return line, nil
	}
	return short, e
}

// Long reports whether Elide would shorten the value of a member of that name in a line.
func Long(line []byte, member string) (long bool) {
	if len(line) >= elidedFrom && json.Valid(line) {
		jsonobject.EachString(line, func(name []byte, start, end int) {
			long = long || end-start >= elidedFrom && string(name) == member
		})
	}
	return long
}

// shorten copies valid JSON with only the ends of its long strings.
func (e *Elided) shorten(line []byte, whole []string) (short []byte) {
	copied := 0
	jsonobject.EachString(line, func(member []byte, start, end int) {
		if end-start < elidedFrom || slices.Contains(whole, string(member)) {
			return
		}
		head, tail := middle(line[start:end], e.ends)
		if tail <= head {
			return
		}
		text := line[start+head : start+tail]
		marker := fmt.Sprintf("%s%d bytes: %016x]", markerBegin, len(text), maphash.Bytes(markerSeed(), text))
		e.texts[marker] = text
		short = append(append(short, line[copied:start+head]...), marker...)
		copied = start + tail
	})
	return append(short, line[copied:]...)
}

// middle finds the middle of a JSON string. It leaves the given number of text bytes at each end and splits no
// character.
func middle(text []byte, ends int) (head, tail int) {
	head, _ = skip(text, 0, ends)
	whole, size := len(text), 0
	for at := 0; at < whole; {
		var n int
		at, n = skip(text, at, whole)
		size += n
	}
	tail, _ = skip(text, 0, max(0, size-ends-utf8.UTFMax))
	return head, tail
}

// skip advances in a JSON string by at least the given number of text bytes, or to its end. It returns their number.
func skip(text []byte, at, most int) (end, size int) {
	for at < len(text) && size < most {
		plain := bytes.IndexByte(text[at:min(len(text), at+most-size)], '\\')
		if plain < 0 {
			plain = min(len(text)-at, most-size)
		}
		at, size = at+plain, size+plain
		if at == len(text) || size >= most {
			break
		}
		n, bytesOf := escape(text[at:])
		at, size = at+n, size+bytesOf
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at, size = at+1, size+1
	}
	return at, size
}

// escape returns the length of an escape, and the number of text bytes it encodes. A surrogate pair counts as one.
func escape(text []byte) (length, size int) {
	if text[1] != 'u' {
		return 2, 1
	}
	high := text[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), text[3]) >= 0
	if high && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		return 12, utf8.UTFMax
	}
	code, _ := strconv.ParseUint(string(text[2:6]), 16, 16) // four digits: the JSON is valid
	if size = utf8.RuneLen(rune(code)); size < 0 {
		size = utf8.RuneLen(utf8.RuneError) // half a pair
	}
	return 6, size
}

// Restore puts the omitted parts of the line back into a translator's signals, which have no process and time yet.
// Each part gets separate memory; Restore copies nothing else.
func (e *Elided) Restore(signals []runtime.Signal) {
	if e == nil {
		return
	}
	for i := range signals {
		was := &signals[i]
		raw := e.RestoreJSON(was.Raw)
		if len(raw) == len(was.Raw) {
			continue
		}
		_, at, _ := LayoutOf(raw) // this package built it
		whole := Read(raw, was.Method, at)
		whole.Change = e.change(was, whole.Change)
		*was = whole
	}
}

// change returns the change of a restored signal. Translators add to the summary of a request.
func (e *Elided) change(was *runtime.Signal, whole runtime.Change) runtime.Change {
	before, asked := was.Change.(runtime.InteractiveRequested)
	now, asks := whole.(runtime.InteractiveRequested)
	if was.Change == nil || !asked || !asks {
		if was.Change == nil {
			return nil // the server refuses it
		}
		return whole
	}
	if plain, _ := Requested(was.Method, was.Params); plain.Summary != before.Summary {
		now.Summary = before.Summary
	}
	now.Asked.Subject, now.Asked.Options = before.Asked.Subject, before.Asked.Options
	now.Asked.Context = e.RestoreJSON(before.Asked.Context)
	return now
}

// RestoreJSON puts the omitted parts of the line back into JSON made of it. Without such parts it returns the same
// JSON.
func (e *Elided) RestoreJSON(made json.RawMessage) json.RawMessage {
	if e == nil {
		return made
	}
	var parts [][]byte
	size, copied := 0, 0
	add := func(part []byte) { parts, size = append(parts, part), size+len(part) }
	for at := 0; ; {
		next := bytes.Index(made[at:], []byte(markerBegin))
		if next < 0 {
			break
		}
		at += next
		end := at + bytes.IndexByte(made[at:], ']') + 1
		if text, ours := e.texts[string(made[at:end])]; ours {
			add(made[copied:at])
			add(text)
			at, copied = end, end
			continue
		}
		at += len(markerBegin) // an agent may have written this marker
	}
	if parts == nil {
		return made
	}
	add(made[copied:])
	whole := make([]byte, 0, size)
	for _, part := range parts {
		whole = append(whole, part...)
	}
	return whole
}
