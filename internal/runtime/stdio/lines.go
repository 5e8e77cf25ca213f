package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// maxLine is the longest accepted line in bytes. codex has no limit; it has sent lines of 64 MiB.
const maxLine = 128 << 20

// partBytes is the size of a read.
const partBytes = 64 << 10

// errLineTooLong means that a line exceeded the limit. The reader skipped it.
var errLineTooLong = errors.New("line too long")

// lineReader reads newline-terminated frames. bufio.Scanner would stop at the first line above its limit.
type lineReader struct {
	reader *bufio.Reader
	limit  int
	line   lineBuffer
	// offset counts the bytes read. skipping, when set, runs during a line above the limit.
	offset   int64
	skipping func()
}

func newLineReader(r io.Reader, limit int) *lineReader {
	// A line may exceed the limit by less than a part before the reader skips it.
	return &lineReader{reader: bufio.NewReaderSize(r, partBytes), limit: limit,
		line: lineBuffer{capacity: limit + partBytes}}
}

// next returns the next line without its newline, as valid UTF-8 in separate memory. It drops an unterminated last
// line: the process died while writing it.
func (l *lineReader) next() ([]byte, error) {
	tooLong := false
	for {
		part, err := l.reader.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			l.line.drop()
			return nil, err
		}
		l.offset += int64(len(part))
		if !tooLong {
			l.line.add(part)
			tooLong = l.line.size > l.limit
		}
		if err != nil {
			if tooLong {
				l.line.drop()
				if l.skipping != nil {
					l.skipping()
				}
			}
			continue
		}
		if tooLong {
			l.line.drop()
			return nil, errLineTooLong
		}
		line := bytes.TrimRight(l.line.detach(), "\r\n")
		if !utf8.Valid(line) {
			line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
		}
		return line, nil
	}
}
