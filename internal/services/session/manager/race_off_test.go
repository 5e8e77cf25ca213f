//go:build !race

package manager

// slowness is how many times longer than promised something may take.
const slowness = 1
