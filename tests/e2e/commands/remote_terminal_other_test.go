//go:build !linux

package commands

import "testing"

// atATerminal needs a terminal, which is made otherwise on each system; what the commands do at one is the same.
func atATerminal(*testing.T, *terminal) {}
