//go:build !race

package js_test

import "time"

// engineSlowdown is the approximate factor by which the race detector slows the engine.
const engineSlowdown = 1

// slack is the maximum delay of a handler's answer after its timeout. The promise is 50 ms on a machine that is not
// overloaded.
const slack = 600 * time.Millisecond

// fullMemory is a heap size that can be filled within a few seconds: here the default.
const fullMemory = 64 << 20
