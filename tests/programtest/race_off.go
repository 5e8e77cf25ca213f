//go:build !race

package programtest

const (
	// UnderRace reports whether the tests run under the race detector.
	UnderRace = false
	// Slowness is the factor by which something may be slower than promised.
	Slowness = 1
)
