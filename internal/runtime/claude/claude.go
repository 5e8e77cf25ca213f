// Package claude drives Claude Code (https://code.claude.com): one process for each conversation, over its control
// protocol on the standard pipes.
//
// It owns the translation of its lines into the canonical vocabulary (state.translate, a pure function of a line, the
// state and the time). It owns the policy that its hook applies before every use of a tool (controls.decide), and the
// levels that can be enforced. It must never know sessions, storage or clients.
package claude

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/processes"
	"harness/internal/runtime/stdio"
)

// Name is the runtime's name.
const Name = "claude"

// Tested is the tested version of Claude Code.
const Tested = "2.1.332"

// Runtime is the adapter. Make it with New.
type Runtime struct {
	bin      string
	setup    stdio.Setup
	launcher *stdio.Launcher
	set      *processes.Set[*process]
	models   offered
	working  sync.WaitGroup

	mu       sync.Mutex
	started  bool
	stopping bool
	failure  error // why no process can start, nil when one can
	version  string
	talks    map[string]*conversation
	login    *login // the one that waits for a code, nil for none
}

var (
	_ runtime.Adapter      = (*Runtime)(nil)
	_ runtime.Steerer      = (*Runtime)(nil)
	_ runtime.Installer    = (*Runtime)(nil)
	_ runtime.Forgetter    = (*Runtime)(nil)
	_ runtime.Backgrounder = (*Runtime)(nil)
)

// New makes an adapter of this program ("claude"). Start starts it.
func New(bin string, setup stdio.Setup) *Runtime {
	r := &Runtime{bin: cmp.Or(bin, "claude"), setup: setup, talks: map[string]*conversation{}}
	supervise, launch := &r.setup.Supervise, &r.setup.Launch
	supervise.StartTimeout = cmp.Or(supervise.StartTimeout, 30*time.Second)
	supervise.CallTimeout = cmp.Or(supervise.CallTimeout, 120*time.Second)
	if supervise.Sink == nil {
		supervise.Sink = func(runtime.Batch) {}
	}
	if supervise.Resume == nil {
		supervise.Resume = func(context.Context, string) (runtime.Resumption, error) { return runtime.Resumption{}, nil }
	}
	launch.Remedy = "check CLAUDE_BIN and the folder of the session"
	launch.Command = func() (string, []string, error) {
		path, err := r.findProgram()
		return path, nil, err
	}
	launch.Env = append(settled(), launch.Env...)
	if setup.Home.Dir != "" {
		launch.Env = append(launch.Env, "CLAUDE_CONFIG_DIR="+filepath.Join(setup.Home.Dir, stateFolder))
	}
	r.launcher = stdio.NewLauncher(*launch)
	r.set = processes.New(processes.Options[*process]{Runtime: Name, Max: setup.MaxProcesses, Idle: setup.Idle,
		Start: r.startProcess, End: r.endProcess})
	return r
}

// settled returns the variables of every process. They disable background traffic, limit retries of a failing model
// server, and enable the task list for every model: without it, newer models have no plan.
func settled() []string {
	return []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1", "CLAUDE_CODE_ATTRIBUTION_HEADER=0",
		"CLAUDE_CODE_MAX_RETRIES=2", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1",
	}
}

// Name implements runtime.Adapter.
func (r *Runtime) Name() string { return Name }

// Install implements runtime.Installer.
func (r *Runtime) Install() runtime.Install {
	return runtime.Install{Tested: []string{Tested}, From: Tested, Command: "npm install -g @anthropic-ai/claude-code@" +
		Tested, Setting: "CLAUDE_BIN",
		Page: "https://code.claude.com"}
}

// Capabilities implements runtime.Adapter.
func (r *Runtime) Capabilities() runtime.Capabilities {
	owned, transport := runtime.OwnedNone, ""
	if r.setup.Tools != "" {
		owned, transport = runtime.OwnedMCP, runtime.TransportHTTP
	}
	return runtime.Capabilities{
		Streaming: true, Resume: true, Reconstruct: true, Interrupt: true, Approvals: true, ToolInput: true,
		SurvivesRestart: r.setup.Launch.Shims != nil && r.setup.Launch.Detach, Images: true, DenyReason: true,
		ApproveForSession: true, Plan: true, Usage: true, Subagents: true, SelfStartedTurns: true, ParallelToolCalls: true,
		NativeToolsOff: true,
		ProcessPer:     runtime.ProcessPerThread, OwnedTools: owned, Sandboxes: r.sandboxes(),
		ApprovalPolicies: []string{untrusted, onFailure, onRequest, never}, NetworkAccess: []string{restricted, enabled},
		ImplicitSources: []string{runtime.ImplicitNone}, AutoApproved: readers(),
		// It uses a login or a key. Histories are files of its home, and a conversation resumes by its id.
		Facts: runtime.Facts{Auth: runtime.AuthBoth, State: runtime.StateDisk, Resume: runtime.ResumeNative, Replay: runtime.ReplayAsks,
			Cancellation: runtime.CancelBestEffort, Isolation: []string{runtime.IsolationProcess}}.TakesTools(transport),
	}
}

// findProgram finds the program. Its error names the remedy.
func (r *Runtime) findProgram() (string, error) {
	path, err := exec.LookPath(r.bin)
	if err != nil {
		return "", fmt.Errorf(
			"the program of Claude Code is missing (%w): install it with %s, or name the program in CLAUDE_BIN", err,
			r.Install().Command)
	}
	return filepath.Abs(path)
}

// Status implements runtime.Adapter.
func (r *Runtime) Status() runtime.Status {
	_, missing := r.findProgram()
	r.mu.Lock()
	status := runtime.Status{State: runtime.StateReady, Version: r.version}
	switch {
	case !r.started || r.stopping:
		status.State, status.Reason = runtime.StateStopped, Name+" is not started"
	case missing != nil:
		status.State, status.Reason, status.Missing = runtime.StateUnavailable, missing.Error(), true
	case r.failure != nil:
		status.State, status.Reason = runtime.StateUnavailable, runtime.ReasonOf(r.failure)
	}
	r.mu.Unlock()
	processes.Report(r.set, &status)
	return status
}

// Start implements runtime.Adapter: it attaches to the processes of earlier servers.
func (r *Runtime) Start(ctx context.Context) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return nil
	}
	r.started = true
	r.mu.Unlock()
	left := r.launcher.Found()
	r.launcher.Spare(left)
	var strays []*process
	for _, found := range left {
		if stray := r.inherit(ctx, found); stray != nil {
			strays = append(strays, stray)
		}
	}
	r.sweepHomes(ctx, strays)
	return nil
}

// Stop implements runtime.Adapter.
func (r *Runtime) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.stopping = true
	begun := r.login
	r.mu.Unlock()
	if begun != nil {
		begun.end()
	}
	err := r.set.Stop(ctx)
	if err == nil {
		r.working.Wait()
	}
	return err
}

// Threads implements runtime.Adapter.
func (r *Runtime) Threads() runtime.Threads { return r }
