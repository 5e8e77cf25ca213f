// Package opencode drives OpenCode: one `opencode serve` for all conversations of a credential namespace, over HTTP
// and its stream of events.
//
// It owns OpenCode's protocol: the translation of its events into the canonical vocabulary (a function of the event
// and a small state), the permissions that enforce each level, and the requests for each operation. Package stdio
// owns processes, shims and lines. A separate process beside OpenCode makes the HTTP requests (package bridge). The
// package must never know sessions' storage, routes or clients.
package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
)

// Name is the runtime's name.
const Name = "opencode"

// Tested is the tested version and the oldest supported one.
const Tested = "1.18.33"

const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 120 * time.Second
	// untitled is the prefix of an unnamed conversation's title: without a title OpenCode requests one from its
	// model.
	untitled = "untitled session of harness"
)

// Options configure New.
type Options struct {
	stdio.Setup
	// Bin is the opencode executable (opencode on PATH). Bridge is the program, with its first arguments, that calls
	// bridge.Run.
	Bin    string
	Bridge []string
	// Dir is the folder of conversations without one.
	Dir string
}

// OpenCode is the adapter. Create it with New.
type OpenCode struct {
	options  Options
	launcher *stdio.Launcher
	process  *stdio.Supervisor
	names    *names
	// given are the processes (generations) in which conversations have the tools of this server.
	giving sync.Mutex
	given  map[string]string
	// sending is locked during the delivery of a message, and by callers that must exclude one.
	sending sync.RWMutex
}

var _ interface {
	runtime.Adapter
	runtime.Steerer
	runtime.History
	runtime.Archiver
	runtime.Forker
	runtime.Installer
	runtime.KeyTaker
} = (*OpenCode)(nil)

// New makes an adapter. Start starts it.
func New(options Options) *OpenCode {
	if options.Bin == "" {
		options.Bin = Name
	}
	if options.Supervise.CallTimeout <= 0 {
		options.Supervise.CallTimeout = defaultCallTimeout
	}
	if options.Supervise.StartTimeout <= 0 {
		options.Supervise.StartTimeout = defaultStartTimeout
	}
	o := &OpenCode{options: options, names: newNames(), given: map[string]string{}}
	launch, supervise := options.Launch, options.Supervise
	launch.Command, launch.Remedy = o.command, "check that OPENCODE_BIN names an executable of this platform"
	launch.Inherits, launch.Env = o.inherits, o.environment()
	o.launcher = stdio.NewLauncher(launch)
	supervise.Speak = func(c *stdio.Conn) stdio.Protocol {
		return &protocol{Conn: c, limit: supervise.StartTimeout, names: o.names}
	}
	supervise.Started = func(c *stdio.Conn) string { return hello(c).Version }
	supervise.Attend = o.attend
	o.process = stdio.NewSupervisor(o.launcher, supervise)
	return o
}

// hello returns OpenCode's description of itself.
func hello(c *stdio.Conn) (said bridge.Hello) {
	_ = json.Unmarshal(c.Hello(), &said) // there may be none
	return said
}

// command returns the command line of the bridge, which starts OpenCode.
func (o *OpenCode) command() (path string, args []string, err error) {
	bin, err := exec.LookPath(o.options.Bin)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", nil, fmt.Errorf(
			"opencode is missing (%w): set OPENCODE_BIN to the opencode executable or install it with: %s", err,
			o.Install().Command)
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return "", nil, fmt.Errorf("find opencode: %w", err)
	}
	if _, err := o.config(); err != nil {
		return "", nil, err
	}
	return o.options.Bridge[0], append(append([]string{}, o.options.Bridge[1:]...), bin), nil
}

// Install implements runtime.Installer.
func (o *OpenCode) Install() runtime.Install {
	return runtime.Install{Tested: []string{Tested}, From: Tested, Command: "npm install -g opencode-ai@" + Tested,
		Setting: "OPENCODE_BIN",
		Page:    "https://opencode.ai"}
}

// Name implements runtime.Adapter.
func (o *OpenCode) Name() string { return Name }

// Capabilities implements runtime.Adapter. OpenCode has no sandbox. Read-only disables the tools that write, run
// commands or access the network; a conversation with them has its user's permissions. OpenCode cannot enforce levels
// in between, so they are not offered.
func (o *OpenCode) Capabilities() runtime.Capabilities {
	owned, transport := runtime.OwnedNone, ""
	if o.options.Tools != "" {
		owned, transport = runtime.OwnedMCP, runtime.TransportHTTP
	}
	return runtime.Capabilities{
		Streaming: true, Resume: true, Reconstruct: true, Interrupt: true,
		OwnedTools: owned, Approvals: true, ToolInput: true, Images: true, DenyReason: true,
		ApproveForSession: true, Plan: true, Usage: true, Subagents: true, ParallelToolCalls: true, NativeToolsOff: true,
		SurvivesRestart: o.options.Launch.Shims != nil && o.options.Launch.Detach, ProcessPer: runtime.ProcessPerRuntime,
		Sandboxes:        []string{sandboxReadOnly, sandboxFull},
		ApprovalPolicies: []string{approveUntrusted, approveOnRequest, approveNever},
		NetworkAccess:    []string{networkRestricted, networkEnabled},
		ImplicitSources:  []string{runtime.ImplicitHome}, AutoApproved: readOnlyTools(),
		// It has logins and keys by provider. The harness runs its server, which keeps conversations in a file of its
		// home.
		Facts: runtime.Facts{Auth: runtime.AuthBoth, State: runtime.StateDisk, Resume: runtime.ResumeNative, Replay: runtime.ReplayAsks,
			Cancellation: runtime.CancelBestEffort, Isolation: []string{runtime.IsolationProcess}}.TakesTools(transport),
	}
}

// Status implements runtime.Adapter. The process is OpenCode's own, not the bridge.
func (o *OpenCode) Status() runtime.Status {
	status := o.process.Status()
	if c := o.process.Current(); c != nil && c.Generation() == status.Generation && status.PID != 0 {
		if own := hello(c).PID; own != 0 {
			status.PID = own
			status.Suspended = status.State == runtime.StateReady && process.Suspended(own)
		}
	}
	return status
}

// Start implements runtime.Adapter. A stopped adapter does not start again.
func (o *OpenCode) Start(ctx context.Context) error { return o.process.Start(ctx) }

// Stop implements runtime.Adapter. It returns the context's error when the sink does not accept the last output of
// OpenCode.
func (o *OpenCode) Stop(ctx context.Context) error { return o.process.Stop(ctx) }

// Threads implements runtime.Adapter.
func (o *OpenCode) Threads() runtime.Threads { return o }

// line is the connection to OpenCode with its protocol.
type line struct {
	*protocol
	limit time.Duration
	done  func()
}

// use waits for a starting OpenCode. done releases it.
func (o *OpenCode) use(ctx context.Context) (*line, error) {
	c, done, err := o.process.Use(ctx)
	if err != nil {
		return nil, err
	}
	p, _ := c.Protocol().(*protocol)
	return &line{protocol: p, limit: o.options.Supervise.CallTimeout, done: done}, nil
}

// request makes one HTTP request about a conversation ("" for none) and decodes its answer into out (nil: not read).
func (l *line) request(ctx context.Context, what, native string, step bridge.Step, out any) error {
	return l.command(ctx, what, native,
		call{Command: bridge.Command{Steps: []bridge.Step{step}}, harmless: step.Do == http.MethodGet}, out)
}

func (l *line) command(ctx context.Context, what, native string, c call, out any) error {
	c.Session, c.thread = native, l.names.thread(native)
	for i := range c.Steps {
		if c.Steps[i].Directory == "" {
			c.Steps[i].Directory = l.names.of(native).folder
		}
	}
	result, err := l.Call(ctx, l.limit, what, c)
	if err != nil {
		return l.endedWith(ctx, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(result, out); err != nil {
		return fmt.Errorf("read opencode's answer to %s: %w", what, err)
	}
	return nil
}

// endGrace is how long the bridge may take to exit after OpenCode.
const endGrace = 5 * time.Second

// endedWith adds runtime.ErrProcessGone to the error of an unanswered request if OpenCode has exited: its connections
// break shortly before the bridge exits.
func (l *line) endedWith(ctx context.Context, err error) error {
	var refused *runtime.Error
	if !errors.As(err, &refused) || refused.Code != 0 || !errors.Is(err, runtime.ErrUnavailable) {
		return err
	}
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-l.Gone():
		return fmt.Errorf("%w: opencode ended: %w", runtime.ErrProcessGone, err)
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}

// pathOf returns the path of a conversation.
func pathOf(native, rest string) string { return "/session/" + url.PathEscape(native) + rest }

// homeFile returns a file of OpenCode's home, by the variable and the default of its folder.
func (o *OpenCode) homeFile(variable, otherwise string, rest ...string) (string, error) {
	dir := o.launcher.Variable(variable)
	if o.options.Home.Dir != "" {
		dir = filepath.Join(o.options.Home.Dir,
			map[string]string{"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config"}[variable])
	} else if dir == "" {
		home := o.launcher.Variable("HOME")
		if home == "" {
			var err error
			if home, err = os.UserHomeDir(); err != nil {
				return "", err
			}
		}
		dir = filepath.Join(home, filepath.FromSlash(otherwise))
	}
	return filepath.Join(append([]string{dir, Name}, rest...)...), nil
}
