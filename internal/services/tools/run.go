package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// execute runs an approved call.
func (d *decision) execute(ctx context.Context, snapshot Snapshot) (Outcome, error) {
	sandbox, limits := d.sandbox(), d.limits()
	timeout := cmp.Or(d.tool.Timeout, d.opts.Timeout)
	held := sandbox.Confinement(limits)
	held.TimeoutMS = timeout.Milliseconds()
	// The last check before it runs: a caller that left must not find it completed.
	if gone := ctx.Err(); gone != nil {
		return Outcome{}, errors.Join(gone, d.cancelled(ctx, snapshot))
	}
	began := d.opts.Now()
	err := d.opts.Recorder.Record(ctx, d.call,
		Approved{Snapshot: snapshot, Actor: d.answer.Actor, Reason: d.answer.Reason}, Started{Sandbox: held})
	if err != nil {
		return Outcome{}, err
	}
	completed := Completed{Name: d.tool.Name, ExecutedBy: SourceHarness, ExecutionEnv: sandbox.Name(), Snapshot: snapshot,
		Sandbox: held}
	output, said, failed := d.work(ctx, sandbox, limits, timeout)
	outcome := Outcome{CallID: d.call.ID, Output: output, Snapshot: snapshot}
	if failed != nil {
		outcome.Output, outcome.IsError = failure(failed.Error()), true
	}
	completed.Stdout, completed.Stderr, completed.IsError = said.stdout.first(), said.stderr.first(), outcome.IsError
	completed.DurationMS = d.opts.Now().Sub(began).Milliseconds()
	// A call that ran is recorded, even without a waiting caller.
	ctx = context.WithoutCancel(ctx)
	if completed.ResultPreview, completed.ResultRef, err = d.preview(ctx, outcome.Output); err != nil {
		return Outcome{}, fmt.Errorf("keep the result of call %s: %w", d.call.ID, err)
	}
	if err := d.opts.Recorder.Record(ctx, d.call, completed); err != nil {
		return Outcome{}, err
	}
	return outcome, nil
}

// sandbox returns the sandbox of the tool, nil for none.
func (d *decision) sandbox() Sandbox {
	if d.tool.Unheld {
		return NewInProcess()
	}
	return d.opts.Sandboxes[d.tool.Class]
}

func (d *decision) limits() Limits {
	limits := d.opts.Limits[d.tool.Class]
	limits.OutputBytes = cmp.Or(limits.OutputBytes, defaultSaid)
	limits.ReadOnly = limits.ReadOnly || d.tool.Class == ReadOnly
	return limits
}

// saying receives the output of a run.
type saying struct{ stdout, stderr *stream }

// work runs the tool and checks its output.
func (d *decision) work(ctx context.Context, sandbox Sandbox, limits Limits, timeout time.Duration) (json.RawMessage,
	saying, error) {
	running, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stopped, stop := context.WithCancelCause(running)
	defer stop(nil)
	open := func(name string) *stream {
		return &stream{name: name, limit: limits.OutputBytes, stop: stop, publish: func(delta string) error {
			return d.opts.Recorder.Record(stopped, d.call, Output{Stream: name, Delta: delta})
		}}
	}
	said := saying{open("stdout"), open("stderr")}
	content, err := d.artifact(stopped)
	if err != nil {
		return nil, said, err
	}
	job := Job{Tool: d.tool.Name, Input: d.call.Input, Config: d.tool.Config, Artifact: content, Workspace: d.call.Workspace,
		SessionID: d.call.SessionID, TurnID: d.call.TurnID,
		Stdout: said.stdout, Stderr: said.stderr}
	output, err := sandbox.Run(stopped, d.tool.Tool, job, limits)
	var tooMuch *outputError
	switch {
	case errors.As(context.Cause(stopped), &tooMuch):
		return nil, said, tooMuch
	case err != nil && ctx.Err() != nil:
		return nil, said, errors.New("cancelled: the agent gave the call up")
	case err != nil && running.Err() != nil:
		return nil, said, fmt.Errorf("timed out after %s", timeout)
	case err != nil:
		return nil, said, err
	case int64(len(output)) > limits.OutputBytes:
		return nil, said, &outputError{"result", limits.OutputBytes}
	}
	if wrong := d.tool.output.check(output); wrong != "" {
		return nil, said, errors.New("invalid tool output: " + wrong)
	}
	return output, said, nil
}

// artifact returns the bytes of the artifact in the input, nil for none.
func (d *decision) artifact(ctx context.Context) ([]byte, error) {
	if d.tool.Artifact == "" {
		return nil, nil
	}
	var members map[string]json.RawMessage
	var id string
	if err := json.Unmarshal(d.call.Input, &members); err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	named, given := members[d.tool.Artifact]
	if !given {
		return nil, nil
	}
	if err := json.Unmarshal(named, &id); err != nil {
		return nil, fmt.Errorf("%s: %w", d.tool.Artifact, err)
	}
	if d.opts.Artifacts == nil {
		return nil, errors.New("there are no artifacts here")
	}
	return d.opts.Artifacts.Content(ctx, d.call, id)
}

// preview returns the part of a result in the event.
func (d *decision) preview(ctx context.Context, output json.RawMessage) (preview, ref json.RawMessage, err error) {
	if len(output) <= inlineBytes {
		return output, nil, nil
	}
	if d.opts.Artifacts != nil {
		if ref, err = d.opts.Artifacts.Keep(ctx, d.call, "tool_result.json", "application/json", output); err != nil {
			return nil, nil, err
		}
	}
	begin := []rune(string(output[:min(len(output), 4*previewRunes)]))
	preview, err = json.Marshal(strings.ToValidUTF8(string(begin[:min(len(begin), previewRunes)]), ""))
	return preview, ref, err
}
