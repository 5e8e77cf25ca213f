package config

import (
	"strconv"
	"strings"
)

// TurnLimit is how many turns of a runtime may run at once, MessageLimit how many messages may be on their way to it; 0
// is no bound.
func (c *Config) TurnLimit(runtime string) int { return limitOf(runtime, c.RuntimeMaxTurns) }

// MessageLimit is described with TurnLimit.
func (c *Config) MessageLimit(runtime string) int { return limitOf(runtime, c.RuntimeMaxMessages) }

func limitOf(runtime string, list []string) int {
	n, err := strconv.Atoi(saidOf(runtime, list))
	if err != nil {
		return 0 // nothing was said of it: others than numbers are refused when they are read
	}
	return n
}

// maxRuntimeLimit is the largest limit that can be set: beyond it there are none.
const maxRuntimeLimit = 1_000_000

func isRuntimeLimit(s string) bool {
	whose, number, scoped := strings.Cut(s, "=")
	if !scoped {
		number = s
	}
	n, err := strconv.Atoi(number)
	return err == nil && n >= 0 && n <= maxRuntimeLimit && number[0] != '+' && (!scoped || whose != "")
}
