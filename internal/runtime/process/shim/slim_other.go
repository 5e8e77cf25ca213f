//go:build !linux

package shim

import "runtime/debug"

// slim releases the memory used during the start.
func slim() { debug.FreeOSMemory() }
