package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Parent returns the parent id of a process, 0 when there is no such process, or it has no parent here.
func Parent(pid int) int {
	return int(statOf(pid).number(4)) //nolint:gosec // a process id
}

// Variable returns a variable of the environment with which a process started. It is "" when the process has no such
// variable, or when it is unreadable: it belongs to another user or hides its memory.
func Variable(pid int, name string) string {
	env, err := readAtOnce(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for assignment := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(assignment, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// Name returns the kernel's name of a process, for display; "" when it is gone.
func Name(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(name))
}

// KeepDescendants makes this process the parent of every descendant that loses its parent. Otherwise the machine's
// first process becomes the parent, and the origin is lost. Call ReapOrphans regularly.
func KeepDescendants() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphaned descendants: %w", err)
	}
	return nil
}

// ReapOrphans waits for the exited children of this process, and stops at one that another goroutine waits for.
func ReapOrphans(except int) {
	for {
		var child ended
		// Peek first and wait by id: a wait for any child could reap one of another goroutine.
		err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&child)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT,
			nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || child.pid == 0 || int(child.pid) == except {
			return
		}
		if _, err := unix.Wait4(int(child.pid), nil, unix.WNOHANG, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// ended is the result of waitid(2) for a child, on 64-bit machines.
type ended struct {
	_   [4]int32 // signal, error, code, and nothing
	pid int32
	_   [27]int32
}
