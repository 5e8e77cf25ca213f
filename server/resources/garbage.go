package resources

import (
	"os"
	"runtime"
	"runtime/debug"
)

// heldHeap is the approximate amount of garbage, in bytes, that accumulates before a collection, beyond the heap in
// use. Go collects when the heap has doubled. Most servers use only a few MiB of heap, so a busy one would collect
// fifty times a second, which takes a fifth of its CPU.
const heldHeap = 24 << 20

// HoldHeap makes collections rarer until done is called: memory that is never written to counts as heap in use, but
// uses no memory of the machine. If GOGC or GOMEMLIMIT sets the amount of garbage, HoldHeap changes nothing.
func HoldHeap() (done func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	// Go zeroes memory that was in use before, so all of it would become resident. That happened at every other start,
	// until the memory used during the start was returned to the system first.
	debug.FreeOSMemory()
	held := make([]byte, heldHeap)
	return func() { runtime.KeepAlive(held) }
}
