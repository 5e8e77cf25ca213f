package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// Between two programs (execve) a process has no environment for a moment, and would be passed over. A program that loads from a slow disk
// may take longer than one pause; one that takes longer than all of them is left to the next look.
const (
	replacePause = 100 * time.Microsecond
	replaceLooks = 5_000
	bareLooks    = 10 // until an environment that looks empty is believed to be so
)

// marked scans /proc. Processes of other users can not be read and are none of ours; a zombie has no environment any more.
func marked(wanted func(carries func(assignment string) bool) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		env := environment(pid)
		carries := func(assignment string) bool {
			return bytes.HasPrefix(env, []byte(assignment+"\x00")) || bytes.Contains(env, []byte("\x00"+assignment+"\x00"))
		}
		if wanted(carries) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// environment is nil for what can not be read: another user's process, one that is gone.
func environment(pid int) []byte {
	for bare, looks := 0, 0; bare < bareLooks && looks < replaceLooks; looks++ {
		env, err := readAtOnce(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return nil
		}
		state := statOf(pid)
		if len(env) > 0 || state.memoryless() {
			return env
		}
		if state.bare() {
			bare++
		}
		<-time.After(replacePause)
	}
	return nil
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
