//go:build !linux

package process

import "syscall"

// Boot names this run of the machine; this system has no name for it.
func Boot() string { return "" }

// Resident is 0: this system does not say cheaply what memory a process has.
func Resident(int) int64 { return 0 }

// Suspended is false: this system does not say cheaply whether a process is stopped.
func Suspended(int) bool { return false }

// Started returns only whether a process is there (1) or not (0): on this system its start time is expensive to
// get.
func Started(pid int) uint64 {
	if pid > 0 && syscall.Kill(pid, 0) == nil {
		return 1
	}
	return 0
}
