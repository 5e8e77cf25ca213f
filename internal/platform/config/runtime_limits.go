package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// RuntimeLimits bound what one runtime may use; 0 is no bound.
type RuntimeLimits struct {
	Turns           int // that run
	Messages        int // on their way to the runtime
	SessionMessages int // on their way to one session
	Processes       int // of a runtime with one for each session; at least 1
	MemoryMB        int // resident, of a runtime that is idle
	Start           time.Duration
}

func limitNames() []string {
	return []string{"turns", "messages", "session-messages", "processes", "memory-mb", "start-ms"}
}

// LimitsOf returns the limits of a runtime: what was set of it, else of all, else the default.
func (c *Config) LimitsOf(runtime string) RuntimeLimits {
	of := func(name string, otherwise int) int {
		text := saidOf(runtime+"."+name, c.RuntimeLimits)
		if text == "" {
			text = saidOf(name, c.RuntimeLimits)
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return otherwise // it is unset: what is no number is refused at the start
		}
		return n
	}
	// A message takes a few KiB while it is on its way; an agent's process takes some 100 MiB.
	return RuntimeLimits{Turns: of("turns", 0), Messages: of("messages", 4096), SessionMessages: of("session-messages", 256),
		Processes: of("processes", 8), MemoryMB: of("memory-mb", 512), Start: time.Duration(of("start-ms", 30_000)) * time.Millisecond}
}

const (
	// maxRuntimeLimit is the largest limit that can be set: beyond it there are none.
	maxRuntimeLimit = 1_000_000
	maxProcesses    = 10_000
)

// isRuntimeLimit accepts NAME=N and RUNTIME.NAME=N; names of runtimes may have dots in them.
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
