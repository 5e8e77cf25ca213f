package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Parent is the parent's id of a process, 0 when there is no such process, or it has no parent here.
func Parent(pid int) int {
	return int(statOf(pid).number(4)) //nolint:gosec // a process id
}

// Variable reads a variable from the environment a process was started with. "" when it has none of that name, and when
// it cannot be read: another user's process, one that hides its memory.
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

// Name is what the kernel calls a process, for people; "" when it is gone.
func Name(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(name))
}

// KeepDescendants makes this process the parent of every process below it whose own parent ends. Without it the
// machine's first process becomes the parent, and the origin is lost. Call ReapOrphans from time to time.
func KeepDescendants() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphaned descendants: %w", err)
	}
	return nil
}

// ReapOrphans waits for the children of this process that have ended, and stops at one that another goroutine
// waits for.
func ReapOrphans(except int) {
	for {
		var child ended
		// Peeked first and waited for by its id: waiting for any child could take one of another goroutine.
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

// ended is what waitid(2) reports of a child, on machines of 64 bits.
type ended struct {
	_   [4]int32 // signal, error, code, and nothing
	pid int32
	_   [27]int32
}
