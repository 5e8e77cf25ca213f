//go:build !scripted

package main

// furtherRuntimes are none in the program of users.
func furtherRuntimes() []runtimeMaker { return nil }
