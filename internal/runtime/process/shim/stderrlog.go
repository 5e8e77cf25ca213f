package shim

import (
	"os"
	"sync"
)

// stderrBytes bounds the runtime's stderr log. The previous log is kept as .old, so at most twice this is on disk.
const stderrBytes = 1 << 20

// boundedLog keeps the newest lines of a runtime's stderr.
type boundedLog struct {
	path string
	mu   sync.Mutex
	file *os.File
	size int64
}

func (l *boundedLog) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && l.size > stderrBytes {
		_ = l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".old")
	}
	if l.file == nil {
		file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return // a failed log write must not stop a turn
		}
		l.file, l.size = file, 0
	}
	n, _ := l.file.Write(append(line, '\n'))
	l.size += int64(n)
}
