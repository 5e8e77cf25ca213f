//go:build !race

package programtest

const (
	// UnderRace reports whether the tests run under the race detector.
	UnderRace = false
	// Slowness is how many times longer than promised something may take.
	Slowness = 1
)
