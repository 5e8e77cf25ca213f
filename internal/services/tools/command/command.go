// Package command provides the tool workspace.exec, which runs programs. It is off by default, runs only configured
// programs, and needs a sandbox.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"harness/internal/services/tools"
)

// Name is the tool's name.
const Name = "workspace.exec"

const (
	input = `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"minItems":1,` +
		`"description":"a program and its arguments; no shell reads them"},` +
		`"folder":{"type":"string","description":"a folder of the workspace to run in"}},"required":["command"],"additionalProperties":false}`
	output = `{"type":"object","properties":{"exit_code":{"type":"integer"},"signal":{"type":"string"},` +
		`"stdout":{"type":"string"},"stderr":{"type":"string"},"truncated":{"type":"boolean"}},` +
		`"required":["exit_code","stdout","stderr","truncated"],"additionalProperties":false}`
	keptBytes = 64 << 10
)

// config is the tool's configuration.
type config struct {
	Allowed []string `json:"allowed"`
}

// Tool makes the tool. allowed names the permitted programs; timeout limits a run, 0 leaves it to the executor.
func Tool(timeout time.Duration, allowed ...string) (tools.Tool, error) {
	for _, name := range allowed {
		if name == "" || filepath.Base(name) != name {
			return tools.Tool{}, fmt.Errorf("%s: %q is no name of a program; programs are named without a folder", Name, name)
		}
	}
	settings, err := json.Marshal(config{allowed})
	return tools.Tool{
		Name: Name, Description: "Run one of these programs in the workspace: " + strings.Join(allowed, ", ") + ".",
		Class: tools.Dangerous, Input: json.RawMessage(input), Output: json.RawMessage(output), Config: settings,
		Timeout: timeout, Run: run,
	}, err
}

type wanted struct {
	Command []string `json:"command"`
	Folder  string   `json:"folder"`
}

type result struct {
	ExitCode  int    `json:"exit_code"`
	Signal    string `json:"signal,omitempty"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Truncated bool   `json:"truncated"`
}

func run(ctx context.Context, job tools.Job) (json.RawMessage, error) {
	var want wanted
	var settings config
	if err := errors.Join(json.Unmarshal(job.Input, &want), json.Unmarshal(job.Config, &settings)); err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	if !slices.Contains(settings.Allowed, want.Command[0]) {
		return nil, tools.Failf("%s is none of the allowed programs: %s", want.Command[0],
			strings.Join(settings.Allowed, ", "))
	}
	if want.Folder != "" && !filepath.IsLocal(want.Folder) {
		return nil, tools.Failf("the folder %s is outside of the workspace", want.Folder)
	}
	process := exec.CommandContext(ctx, want.Command[0], want.Command[1:]...)
	process.Dir = filepath.Join(job.Workspace, want.Folder)
	process.WaitDelay = time.Second
	stdout, stderr := &kept{to: job.Stdout}, &kept{to: job.Stderr}
	process.Stdout, process.Stderr = stdout, stderr
	err := process.Run()
	out := result{Stdout: stdout.text(), Stderr: stderr.text(), Truncated: stdout.more || stderr.more}
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		out.ExitCode = ended.ExitCode()
		if status, is := ended.Sys().(syscall.WaitStatus); is && status.Signaled() {
			out.Signal = status.Signal().String()
		}
	case errors.Is(err, exec.ErrWaitDelay): // the program left a process running, which ends with the sandbox
	case err != nil:
		return nil, err
	}
	return json.Marshal(out)
}

// kept forwards the output and keeps its first part.
type kept struct {
	to    io.Writer
	first []byte
	more  bool
}

func (k *kept) Write(chunk []byte) (int, error) {
	room := max(0, keptBytes-len(k.first))
	k.first = append(k.first, chunk[:min(room, len(chunk))]...)
	k.more = k.more || len(chunk) > room
	return k.to.Write(chunk)
}

func (k *kept) text() string { return strings.ToValidUTF8(string(k.first), "\uFFFD") }
