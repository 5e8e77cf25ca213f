// Package sandbox runs tools in confined processes: by bubblewrap (Linux, no daemon) or by Docker.
//
// It owns how such a process is started, bounded and ended, and the messages to and from it. The process is
// this program again (Child): it gets one job on its standard input and reports on its standard output, a
// line of JSON each. What cannot be confined is not run.
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

// Where things are within a sandbox.
const (
	workspaceDir = "/workspace"
	programPath  = "/run/harness-tool"
)

// assignment is the input of a child: one line.
type assignment struct {
	// Key is in each report about the job: what the job starts could write to where this program reports.
	Key    string       `json:"key"`
	Job    tools.Job    `json:"job"`
	Limits tools.Limits `json:"limits"`
}

// report is a line from a child: that it is ready, a piece of output, or its end.
type report struct {
	Key    string          `json:"key,omitempty"`
	Ready  bool            `json:"ready,omitempty"`
	Stream string          `json:"stream,omitempty"`
	Data   []byte          `json:"data,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Child is the program within a sandbox: it runs one of the tools for the job it reads and writes what comes
// of it. It starts nothing before its assignment, so that it can be bounded first.
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
		return nil // it was only tried whether a child starts
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
