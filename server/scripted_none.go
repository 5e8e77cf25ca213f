//go:build !scripted

package server

// FurtherRuntimes are none in the program of users.
func FurtherRuntimes() []RuntimeMaker { return nil }
