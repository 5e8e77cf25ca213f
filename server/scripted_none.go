//go:build !scripted

package server

// FurtherRuntimes returns none in the shipped program.
func FurtherRuntimes() []RuntimeMaker { return nil }
