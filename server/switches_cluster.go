//go:build cluster

package server

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// switchedOff reports whether a test has switched one mechanism of many nodes off.
func switchedOff(mechanism string) bool {
	return slices.Contains(strings.Split(os.Getenv("HARNESS_TEST_WITHOUT"), ","), mechanism)
}

// advertised is the address by which other nodes find a node port: of what a test has put in between, if anything.
func advertised(address string) string { return cmp.Or(os.Getenv("HARNESS_TEST_ADVERTISED"), address) }
