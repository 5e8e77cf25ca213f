//go:build race

package js_test

// engineSlowdown is how much slower the race detector makes the engine, roughly.
const engineSlowdown = 30

// fullMemory is a heap that can be filled within a few seconds.
const fullMemory = 6 << 20
