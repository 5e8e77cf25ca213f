//go:build race

package main

// underRace: the detector makes the server several times slower and larger; bounds on time and memory are for a server
// without it.
const (
	underRace = true
	slowness  = 5
)
