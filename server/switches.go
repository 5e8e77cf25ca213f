//go:build !cluster

package server

// switchedOff tells whether a test has taken one mechanism of many nodes out, to see that it is missed. Only a build for
// those tests can (tag cluster).
func switchedOff(string) bool { return false }

// advertised is the address by which other nodes find a node port. A build for those tests may have something in between.
func advertised(address string) string { return address }
