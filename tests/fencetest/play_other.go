//go:build !linux

package fencetest

// Play does nothing on this platform.
func Play() {}
