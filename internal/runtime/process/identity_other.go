//go:build !linux

package process

import "syscall"

// Boot identifies the current boot of the machine; this system has no id for it.
func Boot() string { return "" }

// Resident returns 0: this system has no cheap figure for a process's memory.
func Resident(int) int64 { return 0 }

// Suspended returns false: this system has no cheap check for a stopped process.
func Suspended(int) bool { return false }

// Started returns only whether a process exists (1) or not (0): its start time is expensive on this system.
func Started(pid int) uint64 {
	if pid > 0 && syscall.Kill(pid, 0) == nil {
		return 1
	}
	return 0
}
