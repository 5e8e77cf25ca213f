package resources

import (
	"os"
	"runtime"
	"runtime/debug"
)

// heldHeap is about how much garbage, in bytes, there is before it is collected, beyond what is in use. Go collects
// when the heap has doubled: that of most servers has a few MiB in use, and a busy one would collect fifty times a
// second, which is a fifth of its CPU.
const heldHeap = 24 << 20

// HoldHeap makes collections rarer until done: memory that is never written to counts as heap in use, and takes none
// of the machine's. Where GOGC or GOMEMLIMIT says how much garbage there may be, that is left as it is.
func HoldHeap() (done func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	// Go clears memory that was in use before, which would take all of it. It did at every other start, until what the
	// start had used was given back first.
	debug.FreeOSMemory()
	held := make([]byte, heldHeap)
	return func() { runtime.KeepAlive(held) }
}
