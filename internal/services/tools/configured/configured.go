// Package configured provides the operator's additional tools: commands, and tools of MCP servers, from a
// configuration.
//
// It owns how such a command is started, how it gets its input, and how it ends. Package tools decides whether it may
// run, by its configured class.
package configured

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"harness/internal/services/tools"
)

// described is a command in a configuration.
type described struct {
	Command     []string          `json:"command"`
	Description string            `json:"description"`
	Class       tools.Class       `json:"class"`
	Input       json.RawMessage   `json:"input"`
	Output      json.RawMessage   `json:"output"`
	Env         map[string]string `json:"env"`
	Seconds     int               `json:"seconds"`
}

// endWait limits how long a command's pipes stay open after its end.
const endWait = time.Second

// maxAnswer limits the answer of a command and the reported part of its stderr, in bytes.
const (
	maxAnswer    = 8 << 20
	maxComplaint = 2000
)

// anything is the schema that allows any value.
const anything = `{"type":"object"}`

// Tools returns the tools of a configuration by name, {"NAMESPACE.NAME": {"command": ["PROGRAM", ...], "class":
// "read-only", ...}}; "" has none. Its error describes the right form. Registration checks names, classes and schemas.
func Tools(text string) (all []tools.Tool, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var commands map[string]described
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&commands); err != nil {
		return nil, fmt.Errorf(
			`it is no JSON object of tools (%w); write {"team.lookup": {"command": ["PROGRAM"], "class": "read-only", `+
				`"description": "..."}}`, err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		one := commands[name]
		switch {
		case len(one.Command) == 0 || one.Command[0] == "":
			errs = append(errs, fmt.Errorf("tool %q has no command", name))
		case one.Description == "":
			errs = append(errs, fmt.Errorf("tool %q has no description: the model has nothing else to go by", name))
		case one.Seconds < 0:
			errs = append(errs, fmt.Errorf("tool %q: seconds is %d", name, one.Seconds))
		}
		for _, schema := range []*json.RawMessage{&one.Input, &one.Output} {
			if *schema == nil {
				*schema = json.RawMessage(anything)
			}
		}
		all = append(all, tools.Tool{Name: name, Description: one.Description, Class: one.Class, Input: one.Input,
			Output: one.Output, Timeout: time.Duration(one.Seconds) * time.Second, Run: one.run, Unheld: true})
	}
	return all, errors.Join(errs...)
}

// run starts the command in the workspace with the input as JSON. Its output is the result: a JSON object, or any text.
func (d described) run(ctx context.Context, job tools.Job) (json.RawMessage, error) {
	process := exec.CommandContext(ctx, d.Command[0], d.Command[1:]...)
	process.Dir, process.WaitDelay = job.Workspace, endWait
	process.Stdin = bytes.NewReader(job.Input)
	process.Env = environment(d.Env)
	// Its child processes end with it.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
	answer, complaint := &bounded{most: maxAnswer}, &bounded{most: maxComplaint}
	process.Stdout, process.Stderr = answer, io.MultiWriter(complaint, job.Stderr)
	err := process.Run()
	if process.Process != nil {
		_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) // usually, no process is left
	}
	switch {
	case answer.more:
		return nil, tools.Failf("the tool answered more than %d bytes", maxAnswer)
	case err != nil && complaint.text() != "":
		return nil, fmt.Errorf("%w: %s", err, complaint.text())
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, err
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(answer.kept, &object) == nil && object != nil {
		return answer.kept, nil
	}
	return json.Marshal(map[string]string{"output": answer.text()})
}

// environment returns the environment of an operator's program: its configured variables, and few of the server's.
func environment(given map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8"}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		env = append(env, name+"="+given[name])
	}
	return env
}

// bounded keeps the first part of the output.
type bounded struct {
	most int
	kept []byte
	more bool
}

// Write implements io.Writer. It discards the excess: a process that cannot write might hang.
func (b *bounded) Write(chunk []byte) (int, error) {
	room := max(0, b.most-len(b.kept))
	b.kept = append(b.kept, chunk[:min(room, len(chunk))]...)
	b.more = b.more || len(chunk) > room
	return len(chunk), nil
}

func (b *bounded) text() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(b.kept)), "\uFFFD")
}
