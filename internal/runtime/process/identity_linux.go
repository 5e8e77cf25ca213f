package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Boot identifies the current boot of the machine, "" if unknown: process ids and start times are only valid within
// one.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// Started returns the start time of a process, in the kernel's ticks since boot. With the process id it identifies
// one process. It is 0 when there is no such process, or only its zombie.
func Started(pid int) uint64 {
	state := statOf(pid)
	if state.dead() {
		return 0
	}
	return state.number(22)
}

// Suspended reports whether SIGSTOP or a debugger has stopped a process.
func Suspended(pid int) bool {
	state := statOf(pid)
	return len(state) > 0 && (state[0][0] == 'T' || state[0][0] == 't')
}

// Resident returns the resident memory of a process in bytes; 0 when there is no such process.
func Resident(pid int) int64 {
	const pages = 24
	return int64(statOf(pid).number(pages)) * int64(os.Getpagesize()) //nolint:gosec // a number of pages
}

// stat is /proc/<pid>/stat from its third field on; nil when there is no such process.
type stat [][]byte

func statOf(pid int) stat {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	// The program's name is in parentheses and may contain any byte; count the fields after it.
	_, rest, _ := bytes.Cut(line[max(0, bytes.LastIndexByte(line, ')')):], []byte(") "))
	return bytes.Fields(rest)
}

// number returns the field with this number in proc(5), 0 when there is none.
func (s stat) number(field int) uint64 {
	if len(s) <= field-3 {
		return 0
	}
	n, err := strconv.ParseUint(string(s[field-3]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (s stat) dead() bool { return len(s) == 0 || s[0][0] == 'Z' || s[0][0] == 'X' }

// memoryless reports whether a process will never have an environment: it is dead, or a kernel thread (field 23 is
// the size of the memory).
func (s stat) memoryless() bool { return s.dead() || s.number(23) == 0 }

// bare reports whether a program has an empty environment: its start and end (fields 50 and 51) are set and equal.
// That is briefly true of a starting program too.
func (s stat) bare() bool { return s.number(51) > 0 && s.number(50) == s.number(51) }

// Began returns the start time of a process, zero when there is no such process.
func Began(pid int) time.Time {
	ticks := Started(pid)
	var uptime float64
	raw, err := os.ReadFile("/proc/uptime")
	if err != nil || ticks == 0 {
		return time.Time{}
	}
	if _, err := fmt.Sscan(string(raw), &uptime); err != nil {
		return time.Time{}
	}
	const perSecond = 100 // USER_HZ, on all machines of 64 bits
	age := uptime - float64(ticks)/perSecond
	return time.Now().Add(-time.Duration(age * float64(time.Second)))
}
