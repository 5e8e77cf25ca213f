package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seal protects this process from its children: its memory, and its descriptors to the server.
func seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others: %w", err)
	}
	return nil
}

// moded is a system call that sets a file's mode.
type moded struct {
	number int
	// mode and flags are the indexes of these arguments; flags is -1 if the mode always applies.
	mode, flags int
}

// Offsets of a system call's data for a filter; the mode bits that run a program as the file's owner or group; the
// flags that create a file.
const (
	numberAt, archAt, argumentsAt = 0, 4, 16
	setIDs                        = unix.S_ISUID | unix.S_ISGID
	creates                       = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// refuseSetID prevents this process and its children from creating set-id files. A root server's children would create
// ones that run as root, also outside of the sandbox.
func refuseSetID() error {
	if nativeArch == 0 {
		return nil // an unsupported machine
	}
	filter := setIDFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("refuse new privileges: %w", err)
	}
	_, _, code := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))) //nolint:gosec // the call reads it
	if code != 0 {
		return fmt.Errorf("refuse files that run as their owner: %w", code)
	}
	return nil
}

// setIDFilter returns the program that the kernel runs before each system call.
func setIDFilter() (filter []unix.SockFilter) {
	load := func(at uint32) {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at})
	}
	// skip jumps over the next steps unless the loaded value matches.
	skip := func(how uint16, value uint32, steps uint8) {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | how, K: value, Jf: steps})
	}
	end := func(with uint32) { filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with}) }
	argument := func(number int) uint32 { return argumentsAt + 8*uint32(number) }
	load(archAt)
	filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ, K: nativeArch, Jt: 1})
	end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)) // programs for another machine use other call numbers
	load(numberAt)
	for _, number := range []uint32{unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP} { // a filter cannot see their mode argument
		skip(unix.BPF_JEQ, number, 1)
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	}
	if otherNumbers != 0 {
		skip(unix.BPF_JGE, otherNumbers, 1)
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	}
	for _, call := range setsModes() {
		load(numberAt)
		if call.flags >= 0 {
			skip(unix.BPF_JEQ, uint32(call.number), 5)
			load(argument(call.flags))
			skip(unix.BPF_JSET, uint32(creates), 3)
		} else {
			skip(unix.BPF_JEQ, uint32(call.number), 3)
		}
		load(argument(call.mode))
		skip(unix.BPF_JSET, setIDs, 1)
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	}
	end(unix.SECCOMP_RET_ALLOW)
	return filter
}
