//go:build !linux

// Package boottime is a clock for leases. It ignores changes of the date. All processes of a machine read the same
// time.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since the machine was started.
func Now() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		return 0
	}
	return time.Duration(at.Nano())
}
