//go:build !race

package main

const (
	underRace = false
	// slowness is how many times longer than promised something may take.
	slowness = 1
)
