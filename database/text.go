package database

import (
	"strings"
	"unicode/utf8"
)

// Postgres refuses U+0000 and invalid UTF-8 in text, SQLite takes both; clients may send either. Text a client chose goes through EncodeText
// on its way in and DecodeText on its way out, so that both engines give back the same. Nearly all text is stored as it is.
var (
	encodeText = strings.NewReplacer("\x00", "\x010", "\x01", "\x011")
	decodeText = strings.NewReplacer("\x010", "\x00", "\x011", "\x01")
)

// EncodeText makes text storable on every engine; DecodeText undoes it. Invalid UTF-8 becomes U+FFFD for good.
func EncodeText(text string) string {
	if strings.IndexByte(text, 0) < 0 && strings.IndexByte(text, 1) < 0 && utf8.ValidString(text) {
		return text
	}
	return encodeText.Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

// DecodeText is the inverse of EncodeText.
func DecodeText(text string) string {
	if strings.IndexByte(text, 1) < 0 {
		return text
	}
	return decodeText.Replace(text)
}
