package transcript

import (
	"unicode/utf8"
	"unsafe"
)

// indent formats valid JSON like json.Indent with 2 spaces. It works in chunks, so that a long value is not in memory
// twice. No input chunk may end within a value; no output chunk ends within a character.
func indent(chunks [][]byte, yield func(chunk string)) {
	depth, empty := 0, false
	line := func() {
		yield("\n")
		for range depth {
			yield("  ")
		}
	}
	one := func(raw []byte, at int) (end int) {
		c := raw[at]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			return at + 1
		}
		if empty && c != '}' && c != ']' {
			depth++
			line()
			empty = false
		}
		end = at + 1
		switch c {
		case '{', '[':
			empty = true
			yield(asText(raw[at:end]))
		case ',':
			yield(",")
			line()
		case ':':
			yield(": ")
		case '}', ']':
			if empty {
				empty = false
			} else {
				depth--
				line()
			}
			yield(asText(raw[at:end]))
		case '"':
			end = endOfString(raw, at)
			inChunks(asText(raw[at:end]), yield)
		default:
			for end < len(raw) && !structural(raw[end]) {
				end++
			}
			inChunks(asText(raw[at:end]), yield)
		}
		return end
	}
	for _, raw := range chunks {
		for at := 0; at < len(raw); {
			at = one(raw, at)
		}
	}
}

func asText(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) } // no copy: raw never changes

// endOfString returns the end of the JSON string that starts at a quote.
func endOfString(raw []byte, at int) int {
	for at++; at < len(raw); at++ {
		switch raw[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(raw)
}

func structural(c byte) bool {
	switch c {
	case '{', '}', '[', ']', ',', ':', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

func inChunks(text string, yield func(chunk string)) {
	for len(text) > 0 {
		size := min(len(text), chunkBytes)
		for size < len(text) && size > 0 && !utf8.RuneStart(text[size]) {
			size--
		}
		yield(text[:size])
		text = text[size:]
	}
}
