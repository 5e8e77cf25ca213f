// Package acp drives any agent that implements the Agent Client Protocol, version 1, over its standard pipes. One
// process serves all conversations.
//
// It owns the protocol, the translation of its lines into the canonical vocabulary, and the profiles: data about the
// peculiarities of an agent. It must never know sessions, storage or clients.
package acp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/stdio"
)

// Options configure New.
type Options struct {
	Profile Profile
	// Bin replaces the program of the profile's command, "" for none.
	Bin string
	// Setup comes from the server; its Launch has the profile's name.
	Setup stdio.Setup
}

// defaultCallTimeout bounds a call, unless that is configured.
const defaultCallTimeout = 120 * time.Second

// maxSpan bounds Runtime.span; a larger spool is kept to its spoolShare.
const (
	maxSpan    = 8 << 20
	spoolShare = 4
)

// Runtime is the adapter.
type Runtime struct {
	profile      Profile
	bin, version string // of the program, and of this server
	silence      stdio.TurnWatchdog
	// starts and calls are the time limits of a handshake and of a call.
	starts, calls time.Duration
	log           zerolog.Logger
	variables
	store    runtime.Sink
	setup    stdio.Setup
	survives bool
	// span is the number of output bytes that the spool keeps for a growing text.
	span int64

	// nativeToolsOff is stdio.Setup.NativeToolsOff.
	nativeToolsOff func(ctx context.Context, threadID string) (bool, error)

	launcher *stdio.Launcher
	process  *stdio.Supervisor

	mu sync.Mutex
	// natives are the agent's ids of used sessions, folders their working directories.
	natives, folders map[string]string
	// began is the start time of each session's last turn.
	began   map[string]time.Time
	offered offer
	// key is the key of a login that the agent does not store, and provider its provider if there are several; each
	// new process gets both. keyed is set if the last process started with the key (Profile.KeyVariable).
	key, provider string
	keyed         bool
}

// sandboxFull is the only level of these agents: none of them confines its commands.
const sandboxFull = "danger-full-access"

var (
	_ runtime.Adapter   = (*Runtime)(nil)
	_ runtime.Installer = (*Runtime)(nil)
)

// New makes an adapter. Start starts it.
func New(options Options) *Runtime {
	launch, supervise := options.Setup.Launch, options.Setup.Supervise
	r := &Runtime{profile: options.Profile, bin: options.Bin, version: options.Setup.Version,
		silence: options.Setup.TurnWatchdog, log: launch.Logger, calls: cmp.Or(supervise.CallTimeout, defaultCallTimeout),
		starts: supervise.StartTimeout, store: supervise.Sink, setup: options.Setup,
		survives: launch.Shims != nil && launch.Detach,
		natives:  map[string]string{}, folders: map[string]string{}, began: map[string]time.Time{}, nativeToolsOff: options.Setup.NativeToolsOff}
	r.starts, r.span = cmp.Or(r.starts, r.calls), maxSpan
	if launch.Shims != nil && launch.Shims.SpoolBytes > 0 {
		r.span = min(r.span, launch.Shims.SpoolBytes/spoolShare)
	}
	r.env, r.inherits = launch.Env, launch.Inherits
	launch.Command, launch.Remedy = r.command, r.profile.missingRemedy()
	r.env = append(r.profileEnv(), launch.Env...)
	launch.Env = r.env
	supervise.Speak, supervise.Sink, supervise.Started, supervise.Attend = r.speak, r.sink, version, r.attend
	supervise.Program = r.program
	r.launcher = stdio.NewLauncher(launch)
	r.process = stdio.NewSupervisor(r.launcher, supervise)
	return r
}

// missingRemedy explains how to install the agent.
func (p *Profile) missingRemedy() string {
	if p.Install == "" {
		return "check its command line (HARNESS_ACP_AGENTS)"
	}
	return "install it with: " + p.Install
}

// settingsFile returns the path of the file with Profile.Settings. The agent's user can read it.
func (r *Runtime) settingsFile() string {
	return filepath.Join(r.lookup("HOME"), ".harness-"+r.profile.Name+".json")
}

// profileEnv returns the profile's variables for the processes.
func (r *Runtime) profileEnv() (env []string) {
	for _, assignment := range r.profile.Env {
		env = append(env, strings.NewReplacer("{settings}", r.settingsFile(), "{trust}",
			strconv.FormatBool(len(r.toolServers()) > 0)).Replace(assignment))
	}
	return env
}

// command finds the program, and writes its settings.
func (r *Runtime) command() (path string, args []string, err error) {
	name := cmp.Or(r.bin, r.profile.Command[0])
	if path, err = exec.LookPath(name); err != nil {
		return "", nil, fmt.Errorf("%s is not there: %q is no program (%w); %s", r.profile.title(), name, err, r.profile.missingRemedy())
	}
	if r.profile.Settings != "" {
		auth, kind := "", ""
		if cloud := r.cloud(); cloud != nil {
			kind = r.profile.CloudAuth[cloud.Name]
		} else if r.hasAny(r.profile.Keys) {
			kind = r.profile.KeyMethod
		}
		if kind != "" {
			auth = ",\n  \"security\": {\"auth\": {\"selectedType\": \"" + kind + "\"}}"
		}
		settings := strings.Replace(r.profile.Settings, "{auth}", auth, 1)
		if err := r.writeSettings(settings); err != nil {
			return "", nil, fmt.Errorf("write the settings of %s: %w; make %s a folder the server can write to",
				r.profile.title(), err, r.lookup("HOME"))
		}
	}
	args = slices.Clone(r.profile.Command[1:])
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{tools}", cmp.Or(strings.Join(r.toolServers(), ","), rand.Text()))
	}
	return path, args, nil
}

// writeSettings writes the settings into the home, for the agent's user; they have no secret. The agent can write to
// the home, so writeSettings does not follow its links out of the home.
func (r *Runtime) writeSettings(settings string) error {
	home, err := os.OpenRoot(r.lookup("HOME"))
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }() // it was only read
	return home.WriteFile(filepath.Base(r.settingsFile()), []byte(settings), 0o644)
}

// sink passes on output. It settles the message of a turn once the turn's end is stored.
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
	r.store(batch)
}

// settled records that the end of a turn is stored.
func (r *Runtime) settled(generation, turn string) {
	conn, done, ok := r.process.UseGeneration(generation)
	if !ok {
		return
	}
	defer done()
	protocolOf(conn).turnStored(turn)
}

// version returns the version of the agent.
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
	images, owned, transport := !r.profile.Preview, runtime.OwnedNone, ""
	takes, loads := images, images
	if p := protocolOf(r.process.Current()); p != nil {
		p.mu.Lock()
		images, takes, loads = p.agent.Can.Prompt.Image, p.agent.Can.Servers.HTTP, p.agent.Can.Load
		p.mu.Unlock()
	}
	if takes && r.setup.Tools != "" && !r.profile.SharesServers {
		owned, transport = runtime.OwnedMCP, runtime.TransportHTTP
	}
	return runtime.Capabilities{Streaming: true, Resume: true, Reconstruct: true, Interrupt: true, Approvals: true,
		ToolInput: r.profile.Forms, ApproveForSession: len(r.profile.SessionOptions) > 0, Plan: !r.profile.NoPlan,
		Usage: true, Images: images, SurvivesRestart: r.survives, ProcessPer: runtime.ProcessPerRuntime,
		OwnedTools: owned, Sandboxes: []string{sandboxFull}, ApprovalPolicies: r.profile.policies(),
		NetworkAccess: []string{"enabled"}, ImplicitSources: r.profile.implicit(), AutoApproved: []string{
			"what the agent's own policy lets it do: reading, above all"},
		Facts: r.profile.facts(loads).TakesTools(transport)}
}

// Status implements runtime.Adapter.
func (r *Runtime) Status() runtime.Status { return r.process.Status() }

// Start implements runtime.Adapter.
func (r *Runtime) Start(ctx context.Context) error { return r.process.Start(ctx) }

// Stop implements runtime.Adapter.
func (r *Runtime) Stop(ctx context.Context) error { return r.process.Stop(ctx) }

// Threads implements runtime.Adapter.
func (r *Runtime) Threads() runtime.Threads { return r }

// Install implements runtime.Installer.
func (r *Runtime) Install() runtime.Install {
	out := runtime.Install{Tested: []string{}, Command: r.profile.Install, Setting: r.profile.Setting}
	if r.profile.Tested != "" {
		out.Tested, out.From = append(out.Tested, r.profile.Tested), r.profile.Tested
	}
	return out
}

// variables is the environment of the processes.
type variables struct {
	env      []string // NAME=value, the last one counts
	inherits func(name string) bool
}

// lookup returns a variable of the processes' environment.
func (v *variables) lookup(name string) string {
	for _, assignment := range slices.Backward(v.env) {
		if value, is := strings.CutPrefix(assignment, name+"="); is {
			return value
		}
	}
	if v.inherits != nil && !v.inherits(name) {
		return ""
	}
	return os.Getenv(name)
}

// hasAny reports whether one of these variables is set.
func (v *variables) hasAny(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return v.lookup(name) != "" })
}

// cloud returns the provider that the agent's environment or configuration selects, nil for that of the agent's
// vendor.
func (r *Runtime) cloud() *environment.ProviderStatus {
	families := r.profile.Families
	if len(families) == 0 {
		families = []string{r.profile.Name}
	}
	for _, family := range families {
		if cloud := environment.ChosenProvider(family, r.lookup); cloud != nil {
			return cloud
		}
	}
	return nil
}

// Auth implements runtime.Adapter.
func (r *Runtime) Auth(context.Context) (runtime.AuthStatus, error) {
	cloud := r.cloud()
	if cloud != nil && cloud.Switched {
		return cloud.Auth(), nil
	}
	status := runtime.AuthStatus{State: runtime.AuthFound, Credentials: []string{}}
	if r.hasAny(r.profile.Keys) {
		status.Credentials = append(status.Credentials, runtime.CredentialAPIKey)
	}
	if r.loggedIn() {
		status.Credentials = append(status.Credentials, runtime.CredentialLogin)
	}
	for _, login := range r.profile.Logins {
		if slices.Contains(status.Credentials, runtime.CredentialLogin) {
			break
		}
		_, err := os.Stat(os.Expand(login, r.lookup))
		if err == nil {
			status.Credentials = append(status.Credentials, runtime.CredentialLogin)
			continue
		}
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return runtime.AuthStatus{}, fmt.Errorf("look for the login of %s: %w", r.profile.title(), err)
		}
	}
	switch {
	case len(status.Credentials) > 0:
	case cloud != nil:
		return cloud.Auth(), nil
	case len(r.profile.Keys)+len(r.profile.Logins) == 0:
		status.State = runtime.AuthUnknown
	case r.profile.KeyByProvider: // its configuration may have one
		status.State, status.Remedy = runtime.AuthUnknown, r.profile.remedy()
	default:
		status.State, status.Remedy = runtime.AuthMissing, r.profile.remedy()
	}
	return status, nil
}
