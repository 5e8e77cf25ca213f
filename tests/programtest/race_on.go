//go:build race || detect

package programtest

// UnderRace is true: the detector makes the server several times slower and larger, and limits on time and memory
// apply to a server without it. The tests themselves may run without the detector, because the tag detect is for
// servers only.
const (
	UnderRace = true
	Slowness  = 5
)
