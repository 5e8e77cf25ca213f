//go:build race || detect

package programtest

// UnderRace: the detector makes the server several times slower and larger; bounds on time and memory are for a server
// without it. The tests themselves need not be under it: the tag detect is for servers alone.
const (
	UnderRace = true
	Slowness  = 5
)
