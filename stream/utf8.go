package stream

import (
	"errors"
	"io"
	"slices"
	"unicode/utf8"
)

// errUTF8 ends the read of a text message that is not valid UTF-8.
var errUTF8 = errors.New("invalid UTF-8")

// readText reads a text message and fails as soon as it is invalid, even in the middle of a frame (RFC 6455, 8.1). A
// peer need not send a megabyte to find out that its third byte was invalid. arrived returns how many bytes can be read
// without waiting.
func readText(reader io.Reader, arrived func() int64) ([]byte, error) {
	var data []byte
	valid := 0 // the number of bytes of whole characters
	for {
		want := int(max(1, arrived()))
		data = slices.Grow(data, want)
		n, err := reader.Read(data[len(data) : len(data)+want])
		data = data[:len(data)+n]
		valid += wholeRunes(data[valid:])
		switch {
		case valid < len(data) && (err == io.EOF || utf8.FullRune(data[valid:])):
			return nil, errUTF8
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err //nolint:wrapcheck // callers match the library's errors
		}
	}
}

// wholeRunes counts the bytes of the valid characters at the start of data.
func wholeRunes(data []byte) int {
	if utf8.Valid(data) {
		return len(data)
	}
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

// closeFrame corrects a close frame of the library, which repeats the peer's reason without checking it.
func closeFrame(frame []byte) []byte {
	const head = 4 // two bytes of header, two of close code
	if len(frame) > head && !utf8.Valid(frame[head:]) {
		return []byte{0x80 | opClose, 2, closeUTF8 >> 8, closeUTF8 & 0xff}
	}
	return frame
}
