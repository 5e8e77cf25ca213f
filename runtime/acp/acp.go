// Package acp drives any agent that speaks the Agent Client Protocol, version 1, over its standard pipes: one process for all conversations.
//
// It owns the protocol, what its lines mean in the canonical vocabulary, and the profiles, which say in data what an agent does in its own way.
// It must never know sessions, storage or clients.
package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/runtime"
	"harness/runtime/process/confine"
	"harness/runtime/process/shim"
	"harness/runtime/stdio"
)

// Options configure New.
type Options struct {
	Profile Profile
	// Bin stands in for the program of the profile's command, "" for that one.
	Bin string
	// Dir is a folder of the runtime's own that its processes may read, for its settings. Home is where the agent is to keep logins and state, ""
	// for the home of its user.
	Dir, Home string
	// Env, Inherits, Mark, Confine and Stage are as in stdio.Launch.
	Env      []string
	Inherits func(name string) bool
	Mark     string
	Confine  confine.Plan
	Stage    []string

	Sink          runtime.Sink
	Resume        func(ctx context.Context, generation string) (runtime.Resumption, error)
	Logger        zerolog.Logger
	ClientVersion string
	// StartTimeout and CallTimeout, HangAfter and the backoff are as in stdio.Options.
	StartTimeout, CallTimeout, HangAfter, BackoffMin time.Duration
	// Silence is how long an agent may say nothing in a turn before the turn is stopped, and as long again at most half a minute before the
	// process is: nil for the profile's choice, 0 for ever.
	Silence *time.Duration
	// Shims is where processes that outlive a server are kept, nil for none; with Detach they are started there, and KeepOnStop leaves them.
	Shims              *shim.Host
	Detach, KeepOnStop bool
}

// Defaults of Options.
const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 120 * time.Second
)

// Runtime is the adapter.
type Runtime struct {
	options  Options
	profile  Profile
	silence  time.Duration
	launcher *stdio.Launcher
	process  *stdio.Supervisor

	mu sync.Mutex
	// natives are the agent's ids of the sessions that were used, and folders where they work.
	natives, folders map[string]string
	offered          offer
}

// sandboxFull is the one level these agents are opened with: none of them confines what it runs.
const sandboxFull = "danger-full-access"

var (
	_ runtime.Adapter   = (*Runtime)(nil)
	_ runtime.Installer = (*Runtime)(nil)
)

// New makes an adapter that is not started.
func New(options Options) *Runtime {
	options.StartTimeout = cmp.Or(options.StartTimeout, defaultStartTimeout)
	options.CallTimeout = cmp.Or(options.CallTimeout, defaultCallTimeout)
	r := &Runtime{options: options, profile: options.Profile, silence: options.Profile.Silence,
		natives: map[string]string{}, folders: map[string]string{}}
	if options.Silence != nil {
		r.silence = *options.Silence
	}
	remedy := "check its command line"
	if r.profile.Install != "" {
		remedy = "install it with: " + r.profile.Install
	}
	r.launcher = stdio.NewLauncher(stdio.Launch{
		Name: r.profile.Name, Command: r.command, Remedy: remedy, Mark: options.Mark, Confine: options.Confine, Stage: options.Stage,
		Env: append(r.environment(), options.Env...), Inherits: options.Inherits, Shims: options.Shims, Detach: options.Detach, Logger: options.Logger,
	})
	r.process = stdio.NewSupervisor(r.launcher, stdio.Options{
		Speak: r.speak, Sink: r.sink, StartTimeout: options.StartTimeout, CallTimeout: options.CallTimeout, HangAfter: options.HangAfter,
		BackoffMin: options.BackoffMin, Started: version, Attend: r.attend, KeepOnStop: options.KeepOnStop, Resume: options.Resume,
	})
	return r
}

// settingsFile is where Profile.Settings are written.
func (r *Runtime) settingsFile() string {
	return filepath.Join(r.options.Dir, r.profile.Name+"-settings.json")
}

// environment is what the processes are given by the profile.
func (r *Runtime) environment() (env []string) {
	for _, assignment := range r.profile.Env {
		if strings.Contains(assignment, "{home}") && r.options.Home == "" {
			continue
		}
		env = append(env, strings.NewReplacer("{home}", r.options.Home, "{settings}", r.settingsFile()).Replace(assignment))
	}
	return env
}

// command finds the program, and writes the settings it is to read.
func (r *Runtime) command() (path string, args []string, err error) {
	name := cmp.Or(r.options.Bin, r.profile.Command[0])
	if path, err = exec.LookPath(name); err != nil {
		remedy := "check its command line (HARNESS_ACP_AGENTS)"
		if r.profile.Install != "" {
			remedy = "install it with: " + r.profile.Install
		}
		return "", nil, fmt.Errorf("%s is not there: %q is no program (%w); %s", r.profile.title(), name, err, remedy)
	}
	if r.profile.Settings != "" {
		auth := ""
		if r.hasKey() {
			auth = ",\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}"
		}
		settings := strings.Replace(r.profile.Settings, "{auth}", auth, 1)
		if err := os.WriteFile(r.settingsFile(), []byte(settings), 0o644); err != nil { //nolint:gosec // its user may be another one, and no secret is in there
			return "", nil, fmt.Errorf("write the settings of %s: %w; make %s a folder the server can write to", r.profile.title(), err, r.options.Dir)
		}
	}
	return path, r.profile.Command[1:], nil
}

// sink passes on what was said. The message of a turn is settled once the turn's end is stored.
func (r *Runtime) sink(batch runtime.Batch) {
	for _, signal := range batch.Signals {
		if _, ended := signal.Change.(runtime.TurnCompleted); ended && batch.Stored != nil {
			stored, turn := batch.Stored, signal.TurnID
			batch.Stored = func() {
				stored()
				r.settled(batch.Generation, turn)
			}
		}
	}
	r.options.Sink(batch)
}

// settled says that the end of a turn is stored.
func (r *Runtime) settled(generation, turn string) {
	conn, done, ok := r.process.UseGeneration(generation)
	if !ok {
		return
	}
	defer done()
	protocolOf(conn).over(turn)
}

// version is that of the agent.
func version(c *stdio.Conn) string {
	p := protocolOf(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agent.Info.Version
}

// Name implements runtime.Adapter.
func (r *Runtime) Name() string { return r.profile.Name }

// Capabilities implements runtime.Adapter.
func (r *Runtime) Capabilities() runtime.Capabilities {
	images := !r.profile.Preview
	if p := protocolOf(r.process.Current()); p != nil {
		p.mu.Lock()
		images = p.agent.Can.Prompt.Image
		p.mu.Unlock()
	}
	return runtime.Capabilities{Streaming: true, Resume: true, Interrupt: true, Approvals: true, ToolInput: r.profile.Forms, ApproveForSession: true,
		Plan: true, Usage: true, Images: images, SurvivesRestart: r.options.Shims != nil && r.options.Detach, ProcessPer: runtime.ProcessPerRuntime,
		Sandboxes: []string{sandboxFull}, ApprovalPolicies: r.profile.policies(), NetworkAccess: []string{"enabled"}}
}

// Status implements runtime.Adapter.
func (r *Runtime) Status() runtime.Status { return r.process.Status() }

// Start implements runtime.Adapter.
func (r *Runtime) Start(ctx context.Context) error { return r.process.Start(ctx) }

// Stop implements runtime.Adapter.
func (r *Runtime) Stop(ctx context.Context) error { return r.process.Stop(ctx) }

// Install implements runtime.Installer.
func (r *Runtime) Install() runtime.Install {
	out := runtime.Install{Tested: []string{}, Command: r.profile.Install, Setting: r.profile.Setting}
	if r.profile.Tested != "" {
		out.Tested, out.From = append(out.Tested, r.profile.Tested), r.profile.Tested
	}
	return out
}

// lookup is a variable of the processes' environment.
func (r *Runtime) lookup(name string) string {
	for _, assignment := range slices.Backward(append(r.environment(), r.options.Env...)) {
		if value, is := strings.CutPrefix(assignment, name+"="); is {
			return value
		}
	}
	if r.options.Inherits != nil && !r.options.Inherits(name) {
		return ""
	}
	return os.Getenv(name)
}

func (r *Runtime) hasKey() bool {
	return slices.ContainsFunc(r.profile.Keys, func(name string) bool { return r.lookup(name) != "" })
}

// Auth implements runtime.Adapter.
func (r *Runtime) Auth(context.Context) (runtime.AuthStatus, error) {
	status := runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{}}
	if r.hasKey() {
		status.Credentials = append(status.Credentials, runtime.CredentialAPIKey)
	}
	home := cmp.Or(r.options.Home, r.lookup("HOME"))
	for _, login := range r.profile.Logins {
		_, err := os.Stat(filepath.Join(home, login))
		if err == nil {
			status.Credentials = append(status.Credentials, runtime.CredentialLogin)
			break
		}
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return runtime.AuthStatus{}, fmt.Errorf("look for the login of %s: %w", r.profile.title(), err)
		}
	}
	switch {
	case len(status.Credentials) > 0:
	case len(r.profile.Keys)+len(r.profile.Logins) == 0:
		status.State = runtime.AuthUnknown
	default:
		status.State, status.Remedy = runtime.AuthMissing, r.profile.Login
	}
	return status, nil
}
