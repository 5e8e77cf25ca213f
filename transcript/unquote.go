package transcript

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote yields the text of a JSON string in chunks, so that a long text is not in memory twice. A chunk does not end
// within a character, and is invalid once yield returns. NUL characters, which Postgres cannot store, are replaced.
func unquote(quoted []byte, yield func(chunk string)) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return
	}
	chunk := make([]byte, 0, chunkBytes)
	for inner := quoted[1 : len(quoted)-1]; len(inner) > 0; {
		if len(chunk) > chunkBytes-utf8.UTFMax {
			yield(asText(chunk))
			chunk = chunk[:0]
		}
		if inner[0] != '\\' {
			size := plain(inner, chunkBytes-len(chunk))
			chunk, inner = append(chunk, inner[:size]...), inner[size:]
			continue
		}
		character, size := escaped(inner)
		if character == 0 {
			character = utf8.RuneError
		}
		chunk, inner = utf8.AppendRune(chunk, character), inner[size:]
	}
	if len(chunk) > 0 {
		yield(asText(chunk))
	}
}

// plain returns how many bytes at the start of a JSON string's inside, up to most, are whole unescaped characters.
func plain(inner []byte, most int) int {
	size := 0
	for size < len(inner) && size < most && inner[size] != '\\' {
		size++
	}
	for size < len(inner) && !utf8.RuneStart(inner[size]) {
		size--
	}
	return size
}

// escaped returns the character at the start of a JSON string's inside, and the length of its escape.
func escaped(inner []byte) (character rune, size int) {
	switch inner[1] {
	case 'u':
		first := hexadecimal(inner)
		if !utf16.IsSurrogate(first) {
			return first, 6
		}
		if len(inner) >= 12 && inner[6] == '\\' && inner[7] == 'u' {
			if both := utf16.DecodeRune(first, hexadecimal(inner[6:])); both != utf8.RuneError {
				return both, 12
			}
		}
		return utf8.RuneError, 6
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	return rune(inner[1]), 2
}

// hexadecimal returns the number in an escape \uXXXX.
func hexadecimal(escape []byte) rune {
	code, err := strconv.ParseUint(asText(escape[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError // not reached: the input is a valid string
	}
	return rune(code)
}
