//go:build !race && !detect

package programtest

const (
	// UnderRace reports whether servers run under the race detector where tests ask for it.
	UnderRace = false
	// Slowness is the factor by which something may be slower than promised.
	Slowness = 1
)
