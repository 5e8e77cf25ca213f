package commands

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
)

// shells are the programs with which agents start commands.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash"}

// maxLine bounds the text of a command.
const maxLine = 1 << 10

// tree has the processes that a runtime process started, including itself.
type tree struct {
	agent     int
	parent    map[int]int
	above     map[int]bool // of the agent
	variables []string
	named     map[int]string // the known conversations so far
}

// find lists the running commands: processes that a shell of the agent runs, processes with a conversation in their
// environment, and processes that lost their parent.
func (p Process) find() (found []command, err error) {
	if p.Generation == "" || p.Agent <= 0 {
		return nil, nil
	}
	pids, err := process.Carrying(shim.GenerationVariable + "=" + p.Generation)
	if err != nil {
		return nil, fmt.Errorf("look for commands of the agent: %w", err)
	}
	t := tree{agent: p.Agent, parent: map[int]int{}, above: map[int]bool{}, variables: p.Variables, named: map[int]string{}}
	for _, pid := range pids {
		t.parent[pid] = process.Parent(pid)
	}
	for above := t.parent[p.Agent]; above > 1; above = t.parent[above] {
		t.above[above] = true
	}
	for _, pid := range pids {
		if t.begins(pid) && !t.within(pid) {
			if one, ok := t.describe(pid); ok {
				found = append(found, one)
			}
		}
	}
	slices.SortFunc(found, func(a, b command) int { return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.pid, b.pid)) })
	return found, nil
}

// begins reports whether a process is the start of a command.
func (t *tree) begins(pid int) bool {
	parent, known := t.parent[pid]
	if !known || pid == t.agent || t.above[pid] || process.Started(pid) == 0 {
		return false
	}
	// A process that lost its parent has one above the agent, or outside: the agent's own programs keep theirs.
	if _, inside := t.parent[parent]; !inside || t.above[parent] {
		return true
	}
	return slices.Contains(shells, process.Name(pid)) || t.conversation(pid) != "" && t.conversation(parent) == ""
}

// conversation returns the conversation in a process's environment, "" for none.
func (t *tree) conversation(pid int) string {
	said, known := t.named[pid]
	if !known {
		for _, variable := range t.variables {
			said = cmp.Or(said, process.Variable(pid, variable))
		}
		t.named[pid] = said
	}
	return said
}

// within reports whether a process is part of a command that starts above it.
func (t *tree) within(pid int) bool {
	for above := t.parent[pid]; above > 1; above = t.parent[above] {
		if t.begins(above) {
			return true
		}
	}
	return false
}

func (t *tree) describe(pid int) (command, bool) {
	one := command{pid: pid, ticks: process.Started(pid), began: process.Began(pid), conversation: t.conversation(pid)}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || one.ticks == 0 {
		return one, false
	}
	arguments := strings.Split(string(bytes.TrimRight(raw, "\x00")), "\x00")
	if one.line = strings.Join(arguments, " "); slices.Contains(shells, process.Name(pid)) {
		one.line = plain(arguments)
	}
	one.line = strings.ToValidUTF8(one.line[:min(len(one.line), maxLine)], "")
	one.dir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // an unreadable folder stays empty
	return one, true
}

// end ends the command with all processes it started.
func (c command) end(ctx context.Context) error {
	signal, began := syscall.SIGTERM, time.Now()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for members := c.members(nil); ; {
		if members = c.members(members); len(members) == 0 {
			return nil
		}
		switch since := time.Since(began); {
		case since > 2*grace:
			return errStays
		case since > grace:
			signal = syscall.SIGKILL
		}
		for pid, ticks := range members {
			if process.Started(pid) == ticks {
				_ = syscall.Kill(pid, signal) // it may already be gone
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// members returns the running processes of the command: known ones, and their current descendants.
func (c command) members(before map[int]uint64) map[int]uint64 {
	now := map[int]uint64{}
	for pid, ticks := range before {
		if process.Started(pid) == ticks {
			now[pid] = ticks
		}
	}
	if process.Started(c.pid) == c.ticks {
		now[c.pid] = c.ticks
	}
	if len(now) == 0 {
		return nil
	}
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc") // without it, only the known ones are ended
	for _, entry := range entries {
		var pid int
		if _, err := fmt.Sscan(entry.Name(), &pid); err == nil {
			parent := process.Parent(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	var queue []int
	for pid := range now {
		queue = append(queue, pid)
	}
	for len(queue) > 0 {
		for _, child := range children[queue[0]] {
			if ticks := process.Started(child); ticks != 0 && now[child] == 0 {
				now[child] = ticks
				queue = append(queue, child)
			}
		}
		queue = queue[1:]
	}
	return now
}
