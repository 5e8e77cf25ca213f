package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// maxLine is the longest line taken from an agent, in bytes. codex itself has no limit; 64 MiB lines were seen.
const maxLine = 128 << 20

// partBytes is read at a time.
const partBytes = 64 << 10

// errLineTooLong says that a line was above the limit and skipped as a whole.
var errLineTooLong = errors.New("line too long")

// lineReader reads newline-ended frames. It exists because bufio.Scanner ends at the first line above its limit.
type lineReader struct {
	reader *bufio.Reader
	limit  int
	line   lineBuffer
	// offset counts the bytes taken. skipping, when set, is called while a line above the limit passes by.
	offset   int64
	skipping func()
}

func newLineReader(r io.Reader, limit int) *lineReader {
	// A line is too long when it is above the limit by a part at most.
	return &lineReader{reader: bufio.NewReaderSize(r, partBytes), limit: limit,
		line: lineBuffer{capacity: limit + partBytes}}
}

// next returns the next line without its end, valid UTF-8, in memory of its own. A half line at the end is no line: its
// writer died.
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
