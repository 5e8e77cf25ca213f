//go:build cluster

package main

import (
	"os"
	"slices"
	"strings"
)

// switchedOff tells whether a test has taken one mechanism of many nodes out, to see that it is missed.
func switchedOff(mechanism string) bool {
	return slices.Contains(strings.Split(os.Getenv("HARNESS_TEST_WITHOUT"), ","), mechanism)
}
