package stream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// Text is accepted exactly when utf8.Valid accepts it, however it arrives.
func TestReadTextAgreesWithUTF8Valid(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "κόσμε", "\xed\xa0\x80", "a\xce", "a\xce\xbb", "\xf4\x90\x80\x80", "\xf0\x9f\x98\x80",
		"x\xff", "\xe2\x82", "\ufffd", "a\x80b"}
	for _, text := range texts {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			"with the end": iotest.DataErrReader,
		} {
			source := bufio.NewReader(wrap(bytes.NewReader([]byte(text))))
			got, err := readText(source, func() int64 { return int64(source.Buffered()) })
			if utf8.ValidString(text) != (err == nil) || err == nil && string(got) != text || err != nil &&
				!errors.Is(err, errUTF8) {
				t.Errorf("%+q %s: %q, %v", text, name, got, err)
			}
		}
	}
}

// Text that cannot become valid is refused without waiting for the rest.
func TestReadTextFailsFast(t *testing.T) {
	t.Parallel()
	pipe, peer := io.Pipe()
	defer func() { _ = pipe.Close() }()
	go func() {
		_, _ = peer.Write([]byte("fine \xf4\x90"))
	}()
	source := bufio.NewReader(pipe)
	if _, err := readText(source, func() int64 { return int64(source.Buffered()) }); !errors.Is(err, errUTF8) {
		t.Errorf("got %v", err)
	}
}

func TestACloseFrameIsNotRepeatedWithABrokenReason(t *testing.T) {
	t.Parallel()
	broken := []byte{0x88, 4, 0x03, 0xe8, 0xed, 0xa0}
	if got := closeFrame(broken); !bytes.Equal(got, []byte{0x88, 2, 0x03, 0xef}) {
		t.Errorf("got % x", got)
	}
	for _, fine := range [][]byte{{0x88, 0}, {0x88, 2, 0x03, 0xe8}, {0x88, 3, 0x03, 0xe8, 'x'}} {
		if got := closeFrame(fine); !bytes.Equal(got, fine) {
			t.Errorf("got % x for % x", got, fine)
		}
	}
}
