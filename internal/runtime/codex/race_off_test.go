//go:build !race

package codex_test

// longMiB is the length of the measured line, raceFactor the factor of its allowed cost in this build.
const (
	raceFactor = 1
	longMiB    = 64
)
