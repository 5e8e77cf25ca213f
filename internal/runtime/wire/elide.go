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

// Elided is what was left out of a line so that a translator may read it and build of it as often as it likes: the
// middles of its long texts, which are pieces of the line. nil when nothing was.
type Elided struct {
	ends  int
	texts map[string][]byte // by what stands for them
}

// elidedFrom is from which size (bytes) a text is shortened.
const elidedFrom = 1 << 20

// markerBegin begins what stands for the middle of a text, where a reader meets it who remembers only the ends.
const markerBegin = "[harness left out "

// markers are made with a seed that no agent knows: none can write another text's marker.
var markerSeed = sync.OnceValue(maphash.MakeSeed)

// Elide returns a line with its long texts shortened. At each end at least so many bytes of the text stay: a
// translator that keeps no more of a text than that, from either end, keeps the same as of the whole line. A
// line that is short, or not JSON, is returned as it is, and texts that are values of a member in whole are
// left alone. Restore uses the line, so it must not change afterwards.
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

// Long reports whether a line has a text, the value of a member of that name, which Elide would shorten.
func Long(line []byte, member string) (long bool) {
	if len(line) >= elidedFrom && json.Valid(line) {
		jsonobject.EachString(line, func(name []byte, start, end int) {
			long = long || end-start >= elidedFrom && string(name) == member
		})
	}
	return long
}

// shorten copies valid JSON, of its long strings only the ends.
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

// middle is where in the inside of a JSON string a piece begins and ends that leaves so many bytes of the text at each
// end, and cuts no character in two.
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

// skip advances in the inside of a JSON string until at least so many bytes of its text were passed, or to its
// end, and returns how many were.
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

// escape is how long the escape is that something begins with, and how many bytes of text it stands for. The halves of
// a surrogate pair are one.
func escape(text []byte) (length, size int) {
	if text[1] != 'u' {
		return 2, 1
	}
	high := text[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), text[3]) >= 0
	if high && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		return 12, utf8.UTFMax
	}
	code, _ := strconv.ParseUint(string(text[2:6]), 16, 16) // four digits: it is valid JSON
	if size = utf8.RuneLen(rune(code)); size < 0 {
		size = utf8.RuneLen(utf8.RuneError) // half a pair
	}
	return 6, size
}

// Restore puts back what was left out of the line into the signals that a translator built of it, which say nothing yet
// of the process and the time: each is in memory of its own, and nothing else is copied.
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
		_, at, _ := LayoutOf(raw) // it was built here
		whole := Read(raw, was.Method, at)
		whole.Change = e.change(was, whole.Change)
		*was = whole
	}
}

// change is what a signal means that was restored; a translator adds to what a request says.
func (e *Elided) change(was *runtime.Signal, whole runtime.Change) runtime.Change {
	before, asked := was.Change.(runtime.InteractiveRequested)
	now, asks := whole.(runtime.InteractiveRequested)
	if was.Change == nil || !asked || !asks {
		if was.Change == nil {
			return nil // it is refused
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

// RestoreJSON puts back what was left out of the line into JSON that was made of it: the same JSON when that is
// nothing.
func (e *Elided) RestoreJSON(made json.RawMessage) json.RawMessage {
	if e == nil {
		return made
	}
	var pieces [][]byte
	size, copied := 0, 0
	add := func(piece []byte) { pieces, size = append(pieces, piece), size+len(piece) }
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
		at += len(markerBegin) // an agent may have written this
	}
	if pieces == nil {
		return made
	}
	add(made[copied:])
	whole := make([]byte, 0, size)
	for _, piece := range pieces {
		whole = append(whole, piece...)
	}
	return whole
}
