//go:build race

package js_test

import "time"

// engineSlowdown is how much slower the race detector makes the engine, roughly.
const engineSlowdown = 30

// slack is how much later than its timeout a handler may be answered: with neighbours on the same cores, too.
const slack = 6 * time.Second

// fullMemory is a heap that can be filled within a few seconds.
const fullMemory = 6 << 20
