package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// RuntimeLimits bound the resources of one runtime; 0 is no bound.
type RuntimeLimits struct {
	Turns           int // running turns
	Messages        int // messages in transit to the runtime
	SessionMessages int // messages in transit to one session
	Processes       int // processes of a runtime with one per session; at least 1
	MemoryMB        int // resident memory of an idle runtime
	Start           time.Duration
}

func limitNames() []string {
	return []string{"turns", "messages", "session-messages", "processes", "memory-mb", "start-ms"}
}

// LimitsOf returns the limits of a runtime: the limit set for it, or else for all, or else the default.
func (c *Config) LimitsOf(runtime string) RuntimeLimits {
	of := func(name string, otherwise int) int {
		text := saidOf(runtime+"."+name, c.RuntimeLimits)
		if text == "" {
			text = saidOf(name, c.RuntimeLimits)
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return otherwise // unset: Load refuses a value that is not a number
		}
		return n
	}
	// A message in transit takes a few KiB; an agent's process takes some 100 MiB.
	return RuntimeLimits{Turns: of("turns", 0), Messages: of("messages", 4096), SessionMessages: of("session-messages", 256),
		Processes: of("processes", 8), MemoryMB: of("memory-mb", 512), Start: time.Duration(of("start-ms", 30_000)) * time.Millisecond}
}

const (
	// maxRuntimeLimit is the largest limit that can be set.
	maxRuntimeLimit = 1_000_000
	maxProcesses    = 10_000
)

// isRuntimeLimit accepts NAME=N and RUNTIME.NAME=N; names of runtimes may contain dots.
func isRuntimeLimit(s string) bool {
	whose, number, _ := strings.Cut(s, "=")
	at := strings.LastIndexByte(whose, '.')
	name := whose[at+1:]
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > maxRuntimeLimit || number[0] == '+' || at == 0 {
		return false
	}
	return slices.Contains(limitNames(), name) && (name != "processes" || n >= 1 && n <= maxProcesses) && (name != "start-ms" || n >= 1)
}
