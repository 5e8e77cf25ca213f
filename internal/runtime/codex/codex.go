// Package codex drives codex through `codex app-server` on its standard pipes.
//
// It owns everything specific to codex: the wire protocol, the methods and their parameters in the supported versions
// (0.101 to 0.171), the set of conversations loaded in the one codex process, and the neutral meaning of its frames
// in package runtime. Package stdio owns the process and its pipes. The package must never know sessions, storage,
// clients or HTTP.
package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// Name is the name of this runtime as stored with a session.
const Name = "codex"

// Defaults of Options.
const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 120 * time.Second
	defaultRecycleIdle  = 5 * time.Second
	// loginLimit is how long a user may take to log in in a browser.
	loginLimit = 15 * time.Minute
)

// Options configure New. Zero values mean the stated defaults.
type Options struct {
	// Bin is the codex executable, a path or a name to find on PATH ("codex"). It should be the native binary, not
	// the npm wrapper, so that signals and the process id are the right ones.
	Bin string
	// Home is CODEX_HOME, "" for codex's own default.
	Home string
	// Setup comes from the server. Its Home, SessionHome and LastState have no effect: codex keeps its own home.
	Setup stdio.Setup
	// Implicit returns the level of files codex may read without a request in a conversation (runtime.ImplicitAll,
	// ...; "" for its default), and the folder of the conversation. nil changes nothing.
	Implicit func(ctx context.Context, threadID string) (implicit, cwd string, err error)
	// UnloadAfter is how long a conversation may be idle before the adapter unloads it; its next message loads it
	// again. 0 unloads none.
	UnloadAfter time.Duration
	// RecycleBytes is the resident memory above which the adapter restarts codex, after it was idle for RecycleIdle
	// (5 s). Above it, conversations unload after a tenth of UnloadAfter. 0, or a system without that figure, means
	// no limit.
	RecycleBytes int64
	RecycleIdle  time.Duration
}

// Codex is the adapter. Create it with New.
type Codex struct {
	options     Options
	log         zerolog.Logger
	callTimeout time.Duration
	legacy      atomic.Int64
	launcher    *stdio.Launcher
	process     *stdio.Supervisor
	recycler    recycler
	*rollouts
}

var _ interface {
	runtime.Adapter
	runtime.Steerer
	runtime.History
	runtime.Archiver
	runtime.Reverter
	runtime.RawCaller
} = (*Codex)(nil)

// Counters are totals of the transport since New.
type Counters struct {
	// Undecodable lines were not frames, Oversized ones exceeded the limit. The connection skipped both.
	Undecodable, Oversized int64
	// Late answers arrived after their caller canceled the request.
	Late int64
	// Legacy are the dropped codex/event notifications of 0.101.
	Legacy int64
	// Orphans are leftover processes that a sweep killed.
	Orphans int64
	// Hangs are unresponsive processes that the supervisor killed.
	Hangs int64
	// Unloads is the number of idle conversations that codex unloaded on request. Recycles is the number of idle
	// processes that the adapter replaced because of their memory.
	Unloads, Recycles int64
}

// New makes an adapter. Start starts it.
func New(options Options) *Codex {
	set := func(value *time.Duration, fallback time.Duration) {
		if *value <= 0 {
			*value = fallback
		}
	}
	launch, supervise := options.Setup.Launch, options.Setup.Supervise
	set(&supervise.StartTimeout, defaultStartTimeout)
	set(&supervise.CallTimeout, defaultCallTimeout)
	set(&options.RecycleIdle, defaultRecycleIdle)
	if abs, err := filepath.Abs(options.Home); err == nil && options.Home != "" {
		// codex may run in another folder than this server.
		options.Home = abs
	}
	options.Bin = cmp.Or(options.Bin, "codex")
	options.Setup.Version = cmp.Or(options.Setup.Version, "0.0.0")
	options.Setup.Supervise = supervise
	c := &Codex{options: options, log: launch.Logger, callTimeout: supervise.CallTimeout,
		rollouts: &rollouts{configured: options.Home, client: options.Setup.Version}}
	c.recycler.codex = c
	if options.Home != "" {
		launch.Env = append([]string{"CODEX_HOME=" + options.Home}, launch.Env...)
	}
	launch.Name, launch.Command, launch.Remedy = Name, c.command, "check that CODEX_BIN names an executable of this platform"
	c.launcher = stdio.NewLauncher(launch)
	supervise.Speak, supervise.Started = c.speak, c.started
	if options.UnloadAfter > 0 || options.RecycleBytes > 0 {
		supervise.Attend = c.recycler.recycle
	}
	c.process = stdio.NewSupervisor(c.launcher, supervise)
	return c
}

// command finds the program and its arguments.
func (c *Codex) command() (path string, args []string, err error) {
	bin, err := exec.LookPath(c.options.Bin)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", nil, fmt.Errorf(
			"codex is missing (%w): set CODEX_BIN to the codex executable or install it with: npm install -g @openai/codex", err)
	}
	return bin, []string{"app-server"}, nil
}

// Name implements runtime.Adapter.
func (c *Codex) Name() string { return Name }

// autoApproved lists the actions that codex runs without approval under the policy untrusted: known read-only
// commands, and tools without side effects.
func autoApproved() []string {
	return []string{"commands that only read, by codex's list (ls, cat, git status and the like)", "update_plan", "view_image"}
}

// Capabilities implements runtime.Adapter.
func (c *Codex) Capabilities() runtime.Capabilities {
	launch := &c.options.Setup.Launch
	return runtime.Capabilities{
		Streaming: true, Resume: true, Reconstruct: true, Interrupt: true, Approvals: true, ToolInput: true, DynamicTools: true, Images: true,
		ApproveForSession: true, Plan: true, Usage: true, ParallelToolCalls: true, Subagents: true,
		NativeToolsOff: true, DenyReason: true, OwnedTools: runtime.OwnedDynamic, SurvivesRestart: launch.Shims != nil && launch.Detach,
		ProcessPer: runtime.ProcessPerRuntime, Sandboxes: []string{sandboxReadOnly, sandboxWorkspace, sandboxFull},
		ApprovalPolicies: []string{"untrusted", "on-failure", "on-request", "never"},
		NetworkAccess:    []string{"restricted", networkEnabled},
		ImplicitSources:  []string{runtime.ImplicitAll, runtime.ImplicitHome}, AutoApproved: autoApproved(), KeepsFullAccessPair: true,
		Facts: c.facts(),
	}
}

// facts returns the facts of codex: a login or a key, histories in files of its home, tools of an MCP server.
func (c *Codex) facts() runtime.Facts {
	transport := ""
	if c.options.Setup.Tools != "" {
		transport = runtime.TransportHTTP
	}
	return runtime.Facts{Auth: runtime.AuthBoth, State: runtime.StateDisk, Resume: runtime.ResumeNative, Replay: runtime.ReplayAsks,
		Cancellation: runtime.CancelBestEffort, Isolation: []string{runtime.IsolationProcess}}.TakesTools(transport)
}

// Status implements runtime.Adapter.
func (c *Codex) Status() runtime.Status { return c.process.Status() }

// Counters returns totals of the transport.
func (c *Codex) Counters() Counters {
	met := &c.launcher.Counters
	return Counters{
		Undecodable: met.Undecodable.Load(), Oversized: met.Oversized.Load(), Late: met.Late.Load(),
		Legacy: c.legacy.Load(), Orphans: met.Orphans.Load(), Hangs: met.Hangs.Load(),
		Unloads: c.recycler.unloads.Load(), Recycles: c.recycler.recycles.Load(),
	}
}

// Start implements runtime.Adapter. A stopped adapter does not start again.
func (c *Codex) Start(ctx context.Context) error { return c.process.Start(ctx) }

// Stop implements runtime.Adapter. It returns the context's error when the sink does not accept the last output of
// codex.
func (c *Codex) Stop(ctx context.Context) error { return c.process.Stop(ctx) }

// Threads implements runtime.Adapter.
func (c *Codex) Threads() runtime.Threads { return c }

// Call implements runtime.RawCaller. It omits nil params; several codex methods require an empty object instead.
func (c *Codex) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if raw, ok := params.([]byte); ok {
		params = json.RawMessage(raw)
	} else if params != nil {
		raw, err := encode(params)
		if err != nil {
			return nil, fmt.Errorf("encode the parameters of %s: %w", method, err)
		}
		params = json.RawMessage(raw)
	}
	thread := threadOf(params)
	conn, _, done, err := c.use(ctx, thread)
	if err != nil {
		return nil, err
	}
	defer done()
	result, err := conn.Call(ctx, c.callTimeout, method, params)
	if errors.Is(err, runtime.ErrThreadNotFound) && thread != "" && method != "thread/resume" &&
		!conn.turns.loaded(thread) {
		// codex may have unloaded it, or only an earlier process had it loaded.
		if _, unknown := c.resume(ctx, conn, thread, ""); unknown == nil {
			result, err = conn.Call(ctx, c.callTimeout, method, params)
		}
	}
	if err == nil && strings.Contains(method, "login") {
		c.recycler.loginBegan()
	}
	return result, err
}

// call is Call for the adapter's own methods.
func (c *Codex) call(ctx context.Context, method string, params object) (json.RawMessage, error) {
	conn, _, done, err := c.use(ctx, threadOf(params))
	if err != nil {
		return nil, err
	}
	defer done()
	return conn.Call(ctx, c.callTimeout, method, params)
}
