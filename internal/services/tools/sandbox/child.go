// Package sandbox runs tools in confined processes: with bubblewrap (Linux, no daemon) or Docker.
//
// It owns how such a process is started, limited and ended, and the messages to and from it. The process is another
// copy of this program (Child): it gets one job on its standard input and reports on its standard output, as one line
// of JSON each. A tool that cannot be confined does not run.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"harness/internal/services/tools"
)

// Paths within a sandbox.
const (
	workspaceDir = "/workspace"
	programPath  = "/run/harness-tool"
)

// assignment is the input of a child: one line.
type assignment struct {
	// Key is in each report about the job: processes of the job could write to the output with the reports.
	Key    string       `json:"key"`
	Job    tools.Job    `json:"job"`
	Limits tools.Limits `json:"limits"`
}

// report is a line from a child: that it is ready, a chunk of output, or its end.
type report struct {
	Key    string          `json:"key,omitempty"`
	Ready  bool            `json:"ready,omitempty"`
	Stream string          `json:"stream,omitempty"`
	Data   []byte          `json:"data,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Child is the program within a sandbox: it reads one job, runs its tool, and writes the result. It starts nothing
// before its assignment, so that it can be limited first.
func Child(ctx context.Context, in io.Reader, out io.Writer, all []tools.Tool) error {
	if err := seal(); err != nil {
		return err
	}
	reports := &reporter{out: json.NewEncoder(out)}
	if err := reports.send(report{Ready: true}); err != nil {
		return err
	}
	var given assignment
	if err := json.NewDecoder(in).Decode(&given); errors.Is(err, io.EOF) {
		return nil // a check only whether a child starts
	} else if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	reports.key = given.Key
	output, err := work(ctx, given, all, reports)
	if err != nil {
		return reports.send(report{Error: err.Error()})
	}
	return reports.send(report{Output: output})
}

func work(ctx context.Context, given assignment, all []tools.Tool, reports *reporter) (json.RawMessage, error) {
	at := slices.IndexFunc(all, func(t tools.Tool) bool { return t.Name == given.Job.Tool })
	if at < 0 {
		return nil, fmt.Errorf("the program in the sandbox has no tool %s", given.Job.Tool)
	}
	if err := bound(given.Limits); err != nil {
		return nil, fmt.Errorf("set the limits: %w", err)
	}
	if err := refuseSetID(); err != nil {
		return nil, err
	}
	given.Job.Stdout, given.Job.Stderr = stream{reports, "stdout"}, stream{reports, "stderr"}
	return tools.NewInProcess().Run(ctx, all[at], given.Job, given.Limits)
}

type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
	key string
}

func (r *reporter) send(one report) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.Key = r.key
	return r.out.Encode(one)
}

type stream struct {
	to   *reporter
	name string
}

func (s stream) Write(chunk []byte) (int, error) {
	if err := s.to.send(report{Stream: s.name, Data: chunk}); err != nil {
		return 0, err
	}
	return len(chunk), nil
}
