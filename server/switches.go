//go:build !cluster

package server

// switchedOff reports whether a test has disabled one mechanism of many nodes. Only a build for those tests can (tag
// cluster).
func switchedOff(string) bool { return false }

// advertised is the address by which other nodes find a node port. A build for those tests may have something in between.
func advertised(address string) string { return address }
