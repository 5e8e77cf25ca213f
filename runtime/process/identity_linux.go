package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Boot names this run of the machine, "" when it has no name: ids and start times of processes mean nothing in another one.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// Started is when a process started, in the kernel's ticks since boot: with the process id it names one process for good. 0 when there is no
// such process, or only its zombie.
func Started(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The program's name is in brackets and may contain anything; fields are counted after it (proc(5): 3 is the state, 22 the start time).
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(") "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0
	}
	started, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0
	}
	return started
}
