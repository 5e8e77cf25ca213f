package crashes

import (
	"syscall"
	"testing"
	"unsafe"
)

// limitFileSize makes the kernel refuse a running process's writes above a file size (RLIMIT_FSIZE). It simulates a
// full disk without privileges.
func limitFileSize(t *testing.T, pid int, size uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: size}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}
