package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// marked scans /proc. Processes of other users can not be read and are none of ours; a zombie has no environment any more.
func marked(assignment string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	first, inside := []byte(assignment+"\x00"), []byte("\x00"+assignment+"\x00")
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
		if bytes.HasPrefix(env, first) || bytes.Contains(env, inside) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
