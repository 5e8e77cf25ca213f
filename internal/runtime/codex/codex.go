// Package codex drives codex through `codex app-server` on its standard pipes.
//
// It owns everything that is codex's own: the wire protocol, the methods and their parameters in the versions supported
// (0.101 to 0.171), which conversations the one codex process has loaded, and what its frames mean in the neutral words
// of package runtime. The process and its pipes are package stdio's. It must never know sessions, storage, clients or
// HTTP.
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/process/confine"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
)

// Name is the name of this runtime as stored with a session.
const Name = "codex"

// Defaults of Options.
const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 120 * time.Second
	defaultRecycleIdle  = 5 * time.Second
	// loginLimit is how long a person may take to log in in a browser.
	loginLimit = 15 * time.Minute
)

// Options configure New. Zero values mean the defaults named.
type Options struct {
	// Bin is the codex executable, a path or a name to be found on PATH ("codex"). The native binary, not the npm wrapper:
	// signals and the process id are then the right ones.
	Bin string
	// Home is CODEX_HOME, "" for codex's own default.
	Home string
	// Door gives conversations their bearers; nil gives none. Tools is what codex is to know the server's tools by, "" to be
	// given none; they need a door.
	Door  runtime.Door
	Tools string
	// Implicit returns how much codex may read by itself for a conversation (runtime.ImplicitAll, ...; "" for
	// its default), and where that works. nil changes nothing.
	Implicit func(ctx context.Context, threadID string) (implicit, cwd string, err error)
	// NativeToolsOff reports whether codex is to have no tools of its own in a conversation; nil means that it has them.
	NativeToolsOff func(ctx context.Context, threadID string) (bool, error)
	// Dir is the working directory of the process, "" for the server's.
	Dir string
	// Mark names this server's codex for process.Sweep, see process.Mark. It must not be shared with another runtime that
	// is up.
	Mark string
	// Sink receives what codex says.
	Sink runtime.Sink
	// Logger receives codex's stderr (info) and the supervision's own lines.
	Logger zerolog.Logger
	// Called, when set, gets every finished call of codex.
	Called stdio.Called
	// ClientVersion is our own version, sent to codex.
	ClientVersion string
	// StartTimeout bounds a start until codex answered initialize (30 s); CallTimeout every other request (120 s).
	StartTimeout, CallTimeout time.Duration
	// HangAfter is how long codex may leave a health probe unanswered before it is killed and restarted; after a quarter
	// of it the status is unresponsive. 0 asks nothing and waits for ever.
	HangAfter time.Duration
	// UnloadAfter is how long a conversation may be idle before codex is asked to unload it; its next message
	// loads it again. 0 unloads none.
	UnloadAfter time.Duration
	// RecycleBytes is the resident memory above which codex is restarted, once nothing ran or waited in it for
	// RecycleIdle (5 s). Above it conversations are unloaded after a tenth of UnloadAfter. With 0, or on a
	// system without that figure, there is no bound.
	RecycleBytes int64
	RecycleIdle  time.Duration
	// BackoffMin doubles from one failed start to the next up to BackoffMax (250 ms, 30 s).
	BackoffMin, BackoffMax time.Duration
	// Confine hides files from codex and what it runs; Stage is the program and first arguments that do it (process.Spec).
	Confine confine.Plan
	Stage   []string
	// Inherits selects by name which variables of the server's environment codex gets; nil is all. Env is added
	// as NAME=value.
	Inherits func(name string) bool
	Env      []string

	// Shims, when set, is where runtimes that outlive a server are kept. What earlier servers left there is taken over at
	// Start.
	Shims *shim.Host
	// Detach starts codex behind a shim and goes on with one that runs; otherwise a running one is ended and codex is our
	// child.
	Detach bool
	// KeepOnStop has Stop leave a codex behind a shim running, for the next server.
	KeepOnStop bool
	// Resume loads what is stored of a process that outlived its server.
	Resume func(ctx context.Context, generation string) (runtime.Resumption, error)
}

// Codex is the adapter. Create it with New.
type Codex struct {
	options  Options
	counters counters
	launcher *stdio.Launcher
	process  *stdio.Supervisor

	mu sync.Mutex
	// loginUntil is when a login that was begun is given up: a browser brings its end to this process.
	loginUntil time.Time
	// home is the CODEX_HOME that codex reported.
	home string
}

var _ interface {
	runtime.Adapter
	runtime.Steerer
	runtime.Historian
	runtime.Librarian
	runtime.Reverter
	runtime.Passer
} = (*Codex)(nil)

// Counters are totals of what the transport met since New.
type Counters struct {
	// Undecodable lines were no frames, Oversized ones above the limit; both were skipped.
	Undecodable, Oversized int64
	// Late answers came after their request was given up.
	Late int64
	// Legacy are the dropped codex/event notifications of 0.101.
	Legacy int64
	// Orphans are processes that were left behind and killed.
	Orphans int64
	// Hangs are the processes that were killed because they did not answer.
	Hangs int64
	// Unloads counts the idle conversations codex was asked to unload, Recycles the idle processes that were
	// replaced because of their memory.
	Unloads, Recycles int64
}

type counters struct{ legacy, unloads, recycles atomic.Int64 }

// New makes an adapter that is not started yet.
func New(options Options) *Codex {
	set := func(value *time.Duration, fallback time.Duration) {
		if *value <= 0 {
			*value = fallback
		}
	}
	set(&options.StartTimeout, defaultStartTimeout)
	set(&options.CallTimeout, defaultCallTimeout)
	set(&options.RecycleIdle, defaultRecycleIdle)
	if abs, err := filepath.Abs(options.Home); err == nil && options.Home != "" {
		// codex may run in another folder than we do.
		options.Home = abs
	}
	options.Bin = cmp.Or(options.Bin, "codex")
	options.ClientVersion = cmp.Or(options.ClientVersion, "0.0.0")
	c := &Codex{options: options}
	var env []string
	if options.Home != "" {
		env = append(env, "CODEX_HOME="+options.Home)
	}
	c.launcher = stdio.NewLauncher(stdio.Launch{
		Name: Name, Command: c.command, Remedy: "check that CODEX_BIN names an executable of this platform", Dir: options.Dir,
		Mark: options.Mark, Confine: options.Confine, Stage: options.Stage, Env: append(env, options.Env...),
		Inherits: options.Inherits, Shims: options.Shims, Detach: options.Detach, Logger: options.Logger,
		Called: options.Called,
	})
	supervision := stdio.Options{
		Speak: c.speak, Sink: options.Sink, StartTimeout: options.StartTimeout, CallTimeout: options.CallTimeout,
		HangAfter: options.HangAfter, BackoffMin: options.BackoffMin, BackoffMax: options.BackoffMax, Started: c.started,
		KeepOnStop: options.KeepOnStop, Resume: options.Resume,
	}
	if options.UnloadAfter > 0 || options.RecycleBytes > 0 {
		supervision.Attend = c.giveBack
	}
	c.process = stdio.NewSupervisor(c.launcher, supervision)
	return c
}

// command is how codex is started.
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

// unasked is what codex does under the approval policy untrusted without a question: commands that its own list has as
// reading only, and tools that touch nothing.
func unasked() []string {
	return []string{"commands that only read, by codex's list (ls, cat, git status and the like)", "update_plan", "view_image"}
}

// Capabilities implements runtime.Adapter.
func (c *Codex) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{
		Streaming: true, Resume: true, Reconstruct: true, Interrupt: true, Approvals: true, ToolInput: true, DynamicTools: true, Images: true,
		ApproveForSession: true, Plan: true, Usage: true, ParallelToolCalls: true, Subagents: true,
		NativeToolsOff: true, DenyReason: true, OwnedTools: runtime.OwnedDynamic, SurvivesRestart: c.options.Shims != nil && c.options.Detach,
		ProcessPer: runtime.ProcessPerRuntime, Sandboxes: []string{sandboxReadOnly, sandboxWorkspace, sandboxFull},
		ApprovalPolicies: []string{"untrusted", "on-failure", "on-request", "never"},
		NetworkAccess:    []string{"restricted", networkEnabled},
		ImplicitSources:  []string{runtime.ImplicitAll, runtime.ImplicitHome}, Unasked: unasked(), KeepsFullAccessPair: true,
		Facts: c.facts(),
	}
}

// facts are those of codex: a login or a key, histories in files of its home. It takes tools from an MCP server.
func (c *Codex) facts() runtime.Facts {
	transport := ""
	if c.options.Tools != "" {
		transport = runtime.TransportHTTP
	}
	return runtime.Facts{Auth: runtime.AuthBoth, State: runtime.StateDisk, Resume: runtime.ResumeNative, Replay: runtime.ReplayAsks,
		Cancellation: runtime.CancelBestEffort, Isolation: []string{runtime.IsolationProcess}}.TakesTools(transport)
}

// Status implements runtime.Adapter.
func (c *Codex) Status() runtime.Status { return c.process.Status() }

// Counters are totals of what the transport met.
func (c *Codex) Counters() Counters {
	met := &c.launcher.Counters
	return Counters{
		Undecodable: met.Undecodable.Load(), Oversized: met.Oversized.Load(), Late: met.Late.Load(),
		Legacy: c.counters.legacy.Load(), Orphans: met.Orphans.Load(), Hangs: met.Hangs.Load(),
		Unloads: c.counters.unloads.Load(), Recycles: c.counters.recycles.Load(),
	}
}

// Start implements runtime.Adapter. An adapter that was stopped does not start again.
func (c *Codex) Start(ctx context.Context) error { return c.process.Start(ctx) }

// Stop implements runtime.Adapter. It returns the context's error when the sink does not take what codex said last.
func (c *Codex) Stop(ctx context.Context) error { return c.process.Stop(ctx) }

// Call implements runtime.Passer. Params nil sends none; several codex methods then want an empty object.
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
	result, err := conn.Call(ctx, c.options.CallTimeout, method, params)
	if errors.Is(err, runtime.ErrThreadNotFound) && thread != "" && method != "thread/resume" &&
		!conn.turns.loaded(thread) {
		// It may be one that was unloaded, or that an earlier process had.
		if _, unknown := c.resume(ctx, conn, thread, ""); unknown == nil {
			result, err = conn.Call(ctx, c.options.CallTimeout, method, params)
		}
	}
	if err == nil && strings.Contains(method, "login") {
		c.mu.Lock()
		c.loginUntil = time.Now().Add(loginLimit)
		c.mu.Unlock()
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
	return conn.Call(ctx, c.options.CallTimeout, method, params)
}
