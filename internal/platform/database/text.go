package database

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxKey is the maximum number of characters (UTF-16 units) of a text in an index. With 3 bytes each, it leaves room
// for a session's id in the 2704 bytes of a Postgres index row.
const MaxKey = 512

// maxKeyBytes is MaxKey as EncodeText stores it.
const maxKeyBytes = 3 * MaxKey

// KeyError means that a text is too long for an index.
type KeyError struct {
	// Name is the caller's name of the text.
	Name  string
	Bytes int
}

// Error implements error.
func (e *KeyError) Error() string {
	return fmt.Sprintf("%s is too long (%d bytes): use at most %d characters", e.Name, e.Bytes, MaxKey)
}

// CheckKeys takes alternating names and texts and returns a *KeyError for the first text too long for an index. Both
// engines refuse the same texts.
func CheckKeys(namesAndTexts ...string) error {
	for i := 0; i+1 < len(namesAndTexts); i += 2 {
		if size := len(EncodeText(namesAndTexts[i+1])); size > maxKeyBytes {
			return &KeyError{namesAndTexts[i], size}
		}
	}
	return nil
}

// Postgres refuses U+0000 and invalid UTF-8 in text; SQLite accepts both, and clients may send either. EncodeText
// encodes text chosen by a client before it is stored, and DecodeText decodes it when it is read. So both engines
// return the same. Nearly all text is stored unchanged.
var (
	encodeText = strings.NewReplacer("\x00", "\x010", "\x01", "\x011")
	decodeText = strings.NewReplacer("\x010", "\x00", "\x011", "\x01")
)

// EncodeText makes text storable on every engine; DecodeText reverses it. Invalid UTF-8 becomes U+FFFD permanently.
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
