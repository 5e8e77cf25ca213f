package door

import (
	"unicode/utf16"

	"harness/stream"
)

// Texts are how much of each growing text a client has, in UTF-16 code units, by TextKey.
type Texts map[string]int64

// TextKey names a text of an item.
func TextKey(item, into string) string { return item + "\x00" + into }

// Take notes a delta, and returns the offset from which on the client lacks it. ok is false for one that the client has,
// or that is not stored and does not continue its text. Live text comes early and, joined, once more when it is stored.
func (t Texts) Take(item string, text *stream.TextRef, stored bool) (from int64, ok bool) {
	key := TextKey(item, text.Into)
	end, known := t[key]
	to := text.Offset + text.Length
	switch {
	case !known, end == text.Offset, text.Offset > end && stored:
		end = text.Offset
	case to <= end, text.Offset > end: // it lacks what comes before: the stored text follows
		return 0, false
	}
	t[key] = to
	return end, true
}

// Behind returns a text without its first UTF-16 code units.
func Behind(text string, units int64) string {
	if units <= 0 {
		return text
	}
	all := utf16.Encode([]rune(text))
	return string(utf16.Decode(all[min(units, int64(len(all))):]))
}

// Length is the length of a text in UTF-16 code units.
func Length(text string) int64 { return int64(len(utf16.Encode([]rune(text)))) }
