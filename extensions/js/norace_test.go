//go:build !race

package js_test

import "time"

// engineSlowdown is how much slower the race detector makes the engine, roughly.
const engineSlowdown = 1

// slack is how much later than its timeout a handler may be answered. The promise is 50 ms on a machine that is not
// overloaded.
const slack = 600 * time.Millisecond

// fullMemory is a heap that can be filled within a few seconds: here the default.
const fullMemory = 64 << 20
