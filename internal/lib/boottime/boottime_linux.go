// Package boottime is a clock for leases: it runs while the machine sleeps, which Go's own clock does not, and no
// change of the date moves it. All processes of a machine read the same.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine was started, sleep included.
func Now() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return 0 // only where the kernel does not know this clock: Linux has it since 2.6.39
	}
	return time.Duration(at.Nano())
}
