//go:build !race

package shim_test

// slowness is how many times longer than promised something may take.
const slowness = 1
