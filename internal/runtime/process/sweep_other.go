//go:build !linux

package process

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// marked gets the environments from ps; macOS shows only those of this user's processes. Best effort.
func marked(wanted func(carries func(assignment string) bool) bool) ([]int, error) {
	out, err := exec.Command("ps", "-axEww", "-o", "pid=,command=").Output()
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !wanted(func(assignment string) bool { return slices.Contains(fields[1:], assignment) }) {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
