// Package boottime is a clock for leases. It runs while the machine sleeps, unlike Go's own clock, and ignores changes
// of the date. All processes of a machine read the same time.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since the machine was started, including sleep.
func Now() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return 0 // only on kernels without this clock: Linux has it since 2.6.39
	}
	return time.Duration(at.Nano())
}
