package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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
		env, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil {
			continue
		}
		carries := func(assignment string) bool {
			return bytes.HasPrefix(env, []byte(assignment+"\x00")) || bytes.Contains(env, []byte("\x00"+assignment+"\x00"))
		}
		if wanted(carries) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
