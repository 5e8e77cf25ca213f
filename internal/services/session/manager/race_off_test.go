//go:build !race

package manager

// slowness is the factor by which an operation may exceed its promised time.
const slowness = 1
