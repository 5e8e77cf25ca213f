// Package commands finds the running commands of the agents in a runtime process, and ends them. It is for runtimes
// that keep no such list themselves.
//
// It owns the distinction between a command and the agent's own processes. It must never know sessions or a runtime's
// protocol.
package commands

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"harness/internal/runtime"
)

// Process is a runtime process with agents.
type Process struct {
	// Generation identifies it in the environment of all processes it starts. Agent is the process id of its agent.
	Generation string
	Agent      int
	// Variables name a command's conversation in its environment, if the agent sets them.
	Variables []string
}

// command is a running command with all processes it started.
type command struct {
	pid int
	// ticks is its start time in the kernel's ticks. With the process id it identifies one process forever.
	ticks uint64
	began time.Time
	// line is the command line, dir its folder, conversation the agent's name of its conversation, "" if unset.
	line, dir, conversation string
}

// id identifies the command forever.
func (c command) id() string { return strconv.Itoa(c.pid) + "-" + strconv.FormatUint(c.ticks, 10) }

// Tasks lists the commands of the process that belong, or may belong, to a conversation.
func (p Process) Tasks(conversation string) ([]runtime.BackgroundTask, error) {
	all, err := p.find()
	if err != nil {
		return nil, err
	}
	var tasks []runtime.BackgroundTask
	for _, one := range all {
		if one.conversation == "" || one.conversation == conversation {
			tasks = append(tasks, runtime.BackgroundTask{ID: one.id(), Kind: runtime.BackgroundCommand, Command: one.line,
				StartedAt: one.began.UnixMilli(), CanEnd: true, Found: true, Shared: one.conversation == "", Dir: one.dir})
		}
	}
	return tasks, nil
}

// grace is how long a command has to end after SIGTERM.
const grace = 2 * time.Second

// End ends the command of a task with all processes it started. It returns runtime.ErrNoBackground when it is over.
func (p Process) End(ctx context.Context, id string) error {
	all, err := p.find()
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.id() == id {
			return one.end(ctx)
		}
	}
	return runtime.ErrNoBackground
}

// plain returns the command in a shell's command line: the argument after -c.
func plain(arguments []string) string {
	for i, argument := range arguments[:max(0, len(arguments)-1)] {
		if i > 0 && strings.HasPrefix(argument, "-") && !strings.HasPrefix(argument, "--") && strings.HasSuffix(argument, "c") {
			return arguments[i+1]
		}
	}
	return strings.Join(arguments, " ")
}

var errStays = errors.New("the command does not end, not by SIGKILL either")
