//go:build race

package js_test

import "time"

// engineSlowdown is the approximate factor by which the race detector slows calls of the engine. Its transpiled C is
// not under the detector.
const engineSlowdown = 4

// slack is the maximum delay of a handler's answer after its timeout, even with other tests on the same cores.
const slack = 6 * time.Second

// fullMemory is a heap size that can be filled within a few seconds.
const fullMemory = 6 << 20
