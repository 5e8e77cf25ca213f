//go:build !race

package js_test

// engineSlowdown is how much slower the race detector makes the engine, roughly.
const engineSlowdown = 1

// fullMemory is a heap that can be filled within a few seconds: here the default.
const fullMemory = 64 << 20
