//go:build !cluster

package main

// switchedOff tells whether a test has taken one mechanism of many nodes out, to see that it is missed. Only a build for
// those tests can (tag cluster).
func switchedOff(string) bool { return false }
