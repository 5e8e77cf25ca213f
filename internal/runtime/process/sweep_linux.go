package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

// During execve a process briefly has no environment, and a scan would miss it. A program that loads from a slow disk
// may take longer than one pause. If it takes longer than all of them, the next scan finds it.
const (
	replacePause = 100 * time.Microsecond
	replacePolls = 5_000
	barePolls    = 10 // polls until an empty environment counts as empty
)

// marked scans /proc. It cannot read processes of other users, which do not belong to this server; a zombie has no
// environment. It waits for all processes in execve together: on a machine that starts many, one after the other
// would take forever.
func marked(wanted func(carries func(assignment string) bool) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var undecided []*candidate
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			undecided = append(undecided, &candidate{pid: pid})
		}
	}
	var pids []int
	for polls := 0; len(undecided) > 0 && polls < replacePolls; polls++ {
		if polls > 0 {
			<-time.After(replacePause)
		}
		undecided = slices.DeleteFunc(undecided, func(c *candidate) bool {
			env, decided := c.environment()
			carries := func(assignment string) bool {
				return bytes.HasPrefix(env, []byte(assignment+"\x00")) || bytes.Contains(env, []byte("\x00"+assignment+"\x00"))
			}
			if decided && wanted(carries) {
				pids = append(pids, c.pid)
			}
			return decided
		})
	}
	return pids, nil
}

// candidate is a process with an environment that is not known yet.
type candidate struct {
	pid  int
	bare int // number of reads with an empty environment
}

// environment returns nil for an unreadable process: one of another user, or one that is gone. It is undecided while
// the process is, or may be, in execve.
func (c *candidate) environment() (env []byte, decided bool) {
	env, err := readAtOnce(fmt.Sprintf("/proc/%d/environ", c.pid))
	if err != nil {
		return nil, true
	}
	if len(env) > 0 {
		return env, true
	}
	state := statOf(c.pid)
	if state.bare() {
		c.bare++
	}
	return nil, state.memoryless() || c.bare == barePolls
}

// readAtOnce reads a file in one read: with several reads, the environment may end where the program was replaced.
func readAtOnce(name string) ([]byte, error) {
	for size := 32 << 10; ; size *= 4 {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		all := make([]byte, size)
		n, err := file.Read(all)
		_ = file.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if n < size {
			return all[:n], nil
		}
	}
}
