package javascript

import (
	"encoding/binary"
	"math/bits"
)

// Verbatim returns how many bytes at the start of a text JSON leaves unescaped: ASCII except quotes, backslashes and
// control characters. It checks eight at a time.
func Verbatim(text string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		word := binary.LittleEndian.Uint64([]byte(text[i : i+8]))
		quote, backslash := word^'"'*ones, word^'\\'*ones
		// The highest bit of a byte is set if the byte, or its difference to a special character, is below a bound. In
		// bytes after the first match, it may also be set for others.
		found := (word | (word-' '*ones)&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}
