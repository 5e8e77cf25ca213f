//go:build !race

package session

// slowness is how many times longer than promised something may take.
const slowness = 1
