//go:build !race

package js_test

// engineSlowdown is how much slower the race detector makes the engine, roughly.
const engineSlowdown = 1
