//go:build !cluster

package server

// switchedOff reports whether a test has disabled one mechanism of multi-node operation. Only a build for those tests
// can (tag cluster).
func switchedOff(string) bool { return false }

// advertised returns the address of a node port for other nodes. A build for those tests may have a proxy in between.
func advertised(address string) string { return address }
