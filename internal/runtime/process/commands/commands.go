// Package commands finds the commands that the agents of a runtime process have started and that still run, and ends
// them: for runtimes that keep no list of their own.
//
// It owns what is a command and what belongs to the agent itself. It must never know sessions or a runtime's words.
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
	// Generation names it in the environment of all that it starts, Agent is the process id of its agent.
	Generation string
	Agent      int
	// Variables name a command's conversation in its environment, if the agent sets them.
	Variables []string
}

// command is a command that runs, with all that it has started.
type command struct {
	pid int
	// ticks is when it started in the kernel's count: with the process id it names one process for good.
	ticks uint64
	began time.Time
	// line is what runs, dir where, conversation for which one by the agent's own word, "" when it says none.
	line, dir, conversation string
}

// id names the command for good.
func (c command) id() string { return strconv.Itoa(c.pid) + "-" + strconv.FormatUint(c.ticks, 10) }

// Tasks lists the commands of the process that are, or may be, of a conversation.
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

// End ends the command of a task, with all that it has started: runtime.ErrNoBackground when it is over.
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

// plain is the command of a shell's command line: what stands behind -c.
func plain(arguments []string) string {
	for i, argument := range arguments[:max(0, len(arguments)-1)] {
		if i > 0 && strings.HasPrefix(argument, "-") && !strings.HasPrefix(argument, "--") && strings.HasSuffix(argument, "c") {
			return arguments[i+1]
		}
	}
	return strings.Join(arguments, " ")
}

var errStays = errors.New("the command does not end, not by SIGKILL either")
