//go:build race

package programtest

// UnderRace: the detector makes the server several times slower and larger; bounds on time and memory are for a server
// without it.
const (
	UnderRace = true
	Slowness  = 5
)
