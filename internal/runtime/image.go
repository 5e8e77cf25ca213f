package runtime

import (
	"bytes"
	"encoding/base64"
)

// Image is a picture within an item.
type Image struct {
	// Type is its media type, detected from its first bytes.
	Type string
	// Base64 is its content, as the text of a JSON string without quotes.
	Base64 []byte
	// Said is the line that represents the image in the item's content, "" for none.
	Said string
}

// Decode returns the bytes of the image.
func (i Image) Decode() ([]byte, error) {
	text := i.Base64
	if bytes.IndexByte(text, '\\') >= 0 {
		text = bytes.ReplaceAll(text, []byte(`\/`), []byte("/"))
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	return out[:n], err
}
