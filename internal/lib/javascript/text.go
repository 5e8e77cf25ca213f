package javascript

import (
	"strings"
	"unicode/utf16"
)

// Trim is String.prototype.trim. It differs from strings.TrimSpace: U+FEFF is white space, U+0085 is not.
func Trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		switch r {
		case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
			return true
		}
		return r >= 0x2000 && r <= 0x200a
	})
}

// Length is String.prototype.length: UTF-16 units.
func Length(text string) int {
	units := 0
	for _, r := range text {
		if n := utf16.RuneLen(r); n > 0 {
			units += n
		} else {
			units++
		}
	}
	return units
}
