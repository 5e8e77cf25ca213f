//go:build !race

package codex_test

// longMiB is the length of the line whose cost is measured, raceFactor by how much more it may cost here.
const (
	raceFactor = 1
	longMiB    = 64
)
