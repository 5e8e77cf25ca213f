//go:build !race

package shim_test

// slowness is the factor for time limits in this build.
const slowness = 1
