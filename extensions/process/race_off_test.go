//go:build !race

package process_test

// slowness is the factor by which an answer may exceed its promised time.
const slowness = 1
