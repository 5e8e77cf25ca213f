//go:build cluster

package server

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// switchedOff tells whether a test has taken one mechanism of many nodes out, to see that it is missed.
func switchedOff(mechanism string) bool {
	return slices.Contains(strings.Split(os.Getenv("HARNESS_TEST_WITHOUT"), ","), mechanism)
}

// advertised is the address by which other nodes find a node port: of what a test has put in between, if anything.
func advertised(address string) string { return cmp.Or(os.Getenv("HARNESS_TEST_ADVERTISED"), address) }
