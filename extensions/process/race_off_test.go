//go:build !race

package process_test

// slowness is the factor by which something may be slower than promised.
const slowness = 1
