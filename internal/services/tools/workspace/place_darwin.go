package workspace

import (
	"bytes"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// placeOf returns the path of an open file.
func placeOf(file *os.File) (string, error) {
	path := make([]byte, unix.PathMax)
	_, _, code := unix.Syscall(unix.SYS_FCNTL, file.Fd(), unix.F_GETPATH,
		uintptr(unsafe.Pointer(&path[0]))) //nolint:gosec // the call fills it
	if code != 0 {
		return "", code
	}
	return string(path[:max(0, bytes.IndexByte(path, 0))]), nil
}
