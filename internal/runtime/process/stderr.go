package process

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// Limits of a runtime's stderr in the server log. The server reads everything, so that the runtime never blocks, and
// drops the output above the limits.
const (
	// maxStderrLine is the longest logged line, in bytes; the rest of the line is dropped.
	maxStderrLine = 8 << 10
	// maxStderrLines is the maximum number of logged lines per second.
	maxStderrLines = 200
)

// drainStderr passes on stderr line by line, within the limits, until the process is gone. If it dropped lines, one
// line has their number.
func drainStderr(stderr *drainable, deliver func([]byte), now func() time.Time) {
	defer stderr.close()
	if deliver == nil {
		_, _ = io.Copy(io.Discard, stderr)
		return
	}
	reader := bufio.NewReaderSize(stderr, maxStderrLine)
	var window time.Time
	kept, dropped := 0, 0
	report := func() {
		if dropped > 0 {
			deliver(fmt.Appendf(nil, "[%d more lines dropped: more than %d lines in a second]", dropped, maxStderrLines))
			dropped = 0
		}
	}
	defer report()
	inside := false
	for {
		line, more, err := reader.ReadLine()
		if err != nil {
			return
		}
		continuation := inside
		inside = more
		if continuation || len(line) == 0 {
			continue
		}
		if at := now(); at.Sub(window) >= time.Second {
			report()
			window, kept = at, 0
		}
		if kept++; kept > maxStderrLines {
			dropped++
			continue
		}
		deliver(append([]byte(nil), line...))
	}
}
