//go:build race

package codex_test

// The race detector needs additional memory, and takes minutes for a line of full length.
const (
	raceFactor = 3
	longMiB    = 8
)
