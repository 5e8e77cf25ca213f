//go:build !linux

package commands

import "testing"

// atATerminal needs a terminal. Each system creates terminals differently, but the commands behave the same.
func atATerminal(*testing.T, *terminal) {}
