package shim_test

import (
	"syscall"
	"testing"
	"unsafe"
)

// limitFileSize makes the kernel refuse writes of a running process above a file size (RLIMIT_FSIZE): an unprivileged
// substitute for a full disk.
func limitFileSize(t *testing.T, pid int, size uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: size}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}
