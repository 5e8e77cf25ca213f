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

// Between two programs (execve) a process has no environment for a moment, and would be passed over. A program that
// loads from a slow disk may take longer than one pause; one that takes longer than all of them is left to the next
// look.
const (
	replacePause = 100 * time.Microsecond
	replacePolls = 5_000
	barePolls    = 10 // until an environment that looks empty is believed to be so
)

// marked scans /proc. Processes of other users can not be read and are none of ours; a zombie has no environment any
// more. Those on their way to another program are waited for together: on a machine that starts many, one after the
// other would take forever.
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

// candidate is a process whose environment is not known yet.
type candidate struct {
	pid  int
	bare int // how often it looked empty
}

// environment is nil for what can not be read: another user's process, one that is gone. It is not decided while the
// process is, or may be, on its way to another program.
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

// readAtOnce reads a file by one read: the environment that several reads give may end where the program was replaced.
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
