//go:build race

package shim_test

// slowness is the factor for time limits: the race detector makes everything several times slower, and other tests
// run in parallel. The promised times do not cover that.
const slowness = 5
