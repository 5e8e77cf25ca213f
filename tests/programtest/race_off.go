//go:build !race && !detect

package programtest

const (
	// UnderRace reports whether the servers of WithRaceDetector run under the race detector.
	UnderRace = false
	// Slowness is the factor by which an operation may be slower than promised.
	Slowness = 1
)
