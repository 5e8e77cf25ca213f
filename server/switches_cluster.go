//go:build cluster

package server

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// switchedOff reports whether a test has disabled one mechanism of multi-node operation.
func switchedOff(mechanism string) bool {
	return slices.Contains(strings.Split(os.Getenv("HARNESS_TEST_WITHOUT"), ","), mechanism)
}

// advertised returns the address of a node port for other nodes: the address of a test's proxy, if any.
func advertised(address string) string { return cmp.Or(os.Getenv("HARNESS_TEST_ADVERTISED"), address) }
