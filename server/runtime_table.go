package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"harness/internal/lib/version"
	"harness/internal/operations"
	"harness/internal/platform/config"
	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/claude"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/confine"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/unavailable"
	"harness/internal/services/session"
)

// RuntimeMaker makes the adapter of one kind of runtime.
type RuntimeMaker struct {
	name string
	make func(*runtimes, Confinement) (runtime.Adapter, error)
	// unfit returns the reason why the configured server cannot use the runtime, and the remedy; "" if it can. nil
	// means no restriction. Such a runtime is listed as unavailable.
	unfit func(*config.Config) string
	// preview marks a runtime as untested with this program; clients see it unless its operator disables that.
	preview bool
}

// why returns the result of unfit, or that the operator disabled the runtime.
func (m RuntimeMaker) why(cfg *config.Config) string {
	if cfg.RuntimeStatuses()[m.name] == string(operations.RuntimeDisabled) {
		return operations.DisabledReason
	}
	if m.unfit == nil {
		return ""
	}
	return m.unfit(cfg)
}

// runtimeTable lists the runtimes that this program supports. To add one, add a line here, and a function like newCodex
// beside its settings.
func runtimeTable() []RuntimeMaker {
	table := []RuntimeMaker{
		{name: codex.Name, make: newCodex},
		{name: claude.Name, make: newClaude},
		{name: opencode.Name, make: newOpenCode, unfit: oneForAll(opencode.Name)},
	}
	for _, profile := range acp.Shipped() {
		table = append(table, acpMaker(profile))
	}
	return table
}

// runtimes are a server's runtimes, the default one first.
type runtimes struct {
	*core
	fencing *fencing
	access  *access
	agents  *agentsPort
	tools   *ownedTools // nil if agents get no tools

	table    []RuntimeMaker // the runtimes that the server supports
	makers   []RuntimeMaker
	found    bool // the makers are those found on this machine, and not configured
	adapters []runtime.Adapter
	codex    *codex.Codex                 // nil unless codex is configured
	confined atomic.Pointer[confine.Plan] // how agents are started, nil before that is decided
}

// chosen returns the configured runtimes among those that the server supports, the default one first.
func (r *runtimes) chosen(cfg *config.Config) ([]RuntimeMaker, error) {
	table := slices.Clone(r.table)
	own, err := acp.Configured(cfg.ACPAgents)
	if err != nil {
		return nil, config.Usagef("HARNESS_ACP_AGENTS: %w", err)
	}
	for _, profile := range own {
		table = append(table, acpMaker(profile))
	}
	if len(cfg.Runtimes) == 0 {
		cfg.Runtimes, r.found = FoundRuntimes(cfg), true
	}
	var chosen []RuntimeMaker
	for _, name := range cfg.Runtimes {
		i := slices.IndexFunc(table, func(one RuntimeMaker) bool { return one.name == name })
		if i < 0 {
			return nil, config.Usagef("HARNESS_RUNTIMES names %q, which this program cannot drive; it can drive %s",
				name, strings.Join(namesOf(table), ", "))
		}
		if name == cfg.DefaultRuntime {
			chosen = slices.Insert(chosen, 0, table[i])
		} else {
			chosen = append(chosen, table[i])
		}
	}
	if cfg.DefaultRuntime != "" && chosen[0].name != cfg.DefaultRuntime {
		return nil, config.Usagef("HARNESS_DEFAULT_RUNTIME is %q, which is none of HARNESS_RUNTIMES (%s)",
			cfg.DefaultRuntime, strings.Join(cfg.Runtimes, ", "))
	}
	return chosen, nil
}

// FoundRuntimes returns the runtimes of a server without a configured choice: codex, and the others found on this
// machine.
func FoundRuntimes(cfg *config.Config) []string {
	found := []string{codex.Name}
	for _, one := range installable(cfg)[1:] {
		if _, err := exec.LookPath(one.program); err == nil {
			found = append(found, one.name)
		}
	}
	return found
}

// agentProgram is an agent that can be installed.
type agentProgram struct {
	name, program string
	install       func() runtime.Install
}

// installable returns the agents that this program can drive and people install, codex first.
func installable(cfg *config.Config) []agentProgram {
	gemini := acp.Gemini()
	return []agentProgram{
		{codex.Name, CodexBin(cfg), new(codex.Codex).Install}, {claude.Name, cfg.ClaudeBin, new(claude.Runtime).Install},
		{gemini.Name, cfg.GeminiBin, func() runtime.Install { return runtime.Install{Command: gemini.Install, Setting: gemini.Setting} }},
		{opencode.Name, cfg.OpenCodeBin, new(opencode.OpenCode).Install},
	}
}

// absent returns the agents that are not on this machine, among the configured ones if there are any.
func (r *runtimes) absent() (all []operations.AbsentAgent) {
	for _, one := range installable(r.cfg) {
		if !r.found && !slices.Contains(r.cfg.Runtimes, one.name) {
			continue
		}
		if _, err := exec.LookPath(one.program); err != nil {
			all = append(all, operations.AbsentAgent{Name: one.name, Install: one.install()})
		}
	}
	return all
}

// Start starts to supervise the runtimes. A missing one is no error; health reports it.
func (s *runtimes) Start(ctx context.Context) error {
	confined, err := s.confinement(ctx)
	if err != nil {
		return err
	}
	s.confined.Store(&confined.Plan)
	for _, one := range s.makers {
		adapter, err := s.makeRuntime(one, confined)
		if err != nil {
			return fmt.Errorf("make the %s runtime: %w", one.name, err)
		}
		s.adapters = append(s.adapters, adapter)
		s.sessions.Registry.Attach(adapter)
	}
	s.register()
	for _, adapter := range s.adapters {
		if err := adapter.Start(ctx); err != nil {
			return fmt.Errorf("start the %s runtime: %w", adapter.Name(), err)
		}
	}
	return nil
}

// makeRuntime makes an adapter. For a runtime that this setup cannot use, the adapter reports the reason.
func (s *runtimes) makeRuntime(one RuntimeMaker, confined Confinement) (runtime.Adapter, error) {
	if !s.cfg.Runs() {
		return unavailable.New(one.name, "node "+s.dir.NodeID+" "+session.NoRuntimes), nil
	}
	if why := cmp.Or(one.why(s.cfg), s.exposed(one.name, confined)); why != "" {
		s.log.Warn().Str("runtime", one.name).Msg(why)
		return unavailable.New(one.name, why), nil
	}
	return one.make(s, confined)
}

// Stop stops all runtimes concurrently.
func (s *runtimes) Stop(ctx context.Context) error {
	errs := make([]error, len(s.adapters))
	var stopping sync.WaitGroup
	for i, adapter := range s.adapters {
		stopping.Go(func() { errs[i] = adapter.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(errors.Join(errs...), s.removeMadeRoots())
}

const (
	// callTimeout bounds one call to a runtime. The slowest calls load long transcripts and query the model's provider.
	callTimeout = 2 * time.Minute
	// processIdle is the idle time after which the process of a session ends; the next message starts it again, in a
	// few seconds.
	processIdle = 10 * time.Minute
	// unloadIdle is the idle time after which codex unloads a session, which is about 1 MiB; the next message loads it
	// again.
	unloadIdle = 30 * time.Minute
)

// setup returns the options that every adapter gets from this server. Families are the providers whose variables its
// agent inherits, its own by default.
func (s *runtimes) setup(name string, confined Confinement, families ...string) stdio.Setup {
	limits := s.cfg.LimitsOf(name)
	return stdio.Setup{
		Launch: stdio.Launch{
			Name: name, Marker: process.Marker(s.dir.Path, name), Confine: confined.Plan, Stage: confined.stage,
			Inherits: s.environment().Inherits(name, families...), Env: append(runtime.DoorEnv(s.agents.URL(), ""), confined.env...),
			Shims: s.shims, Detach: s.cfg.DetachGrace > 0, Logger: s.log.With().Str("package", name).Logger(),
			Called: s.runtimeCalled(name),
		},
		Supervise: stdio.Options{
			Sink: s.warningNewer(name, s.sessions.Sink(name)), Resume: s.sessions.Spools.Resumption, KeepOnStop: s.cfg.KeepRuntimes,
			StartTimeout: limits.Start, CallTimeout: callTimeout, HangAfter: s.cfg.RuntimeHang,
		},
		LastState: func(ctx context.Context, threadID string) (json.RawMessage, error) {
			return s.sessions.Spools.LastState(ctx, name, threadID)
		},
		NativeToolsOff: s.sessions.Registry.NativeToolsOff,
		Door:           s.agents, Tools: s.tools.nameFor(name), Control: controlFor(s.cfg, name), Idle: processIdle,
		MaxProcesses: limits.Processes, Version: version.Program(),
		TurnWatchdog: stdio.TurnWatchdog(s.cfg.TurnIdle),
	}
}

// setupWithHome is setup for a runtime that stores its logins and state in a separate home
// (docs/security.md#what-agents-cannot-reach).
func (s *runtimes) setupWithHome(name string, confined Confinement, families ...string) (stdio.Setup, error) {
	homes, level, err := s.homes(confined, name)
	if err != nil {
		return stdio.Setup{}, err
	}
	forget := func(session string) error { return homes.Forget(name, session) }
	if level == environment.LevelEphemeral {
		setup := s.setup(name, confined, families...)
		setup.ForgetHome = forget
		setup.SessionHome = func(session string) (environment.Home, []string, error) {
			return s.sessionHome(homes, confined, name, session)
		}
		if s.cfg.CredentialDir == "" { // otherwise other servers may have homes there
			setup.KnownSession = s.sessions.Reader.Keeps
			setup.SessionHomes = func() ([]string, error) { return homes.Sessions(name) }
		}
		return setup, nil
	}
	home, confined, err := s.home(confined, name)
	if err != nil {
		return stdio.Setup{}, err
	}
	setup := s.setup(name, confined, families...)
	setup.Home, setup.Launch.Env, setup.ForgetHome = home, append(setup.Launch.Env, home.Env()...), forget
	return setup, nil
}

// oneForAll returns the reason why the configured server cannot use a runtime with one process for all sessions, "" if
// it can.
func oneForAll(name string) func(*config.Config) string {
	return func(cfg *config.Config) string {
		if environment.Level(cfg.CredentialLevel(name)) != environment.LevelEphemeral {
			return ""
		}
		return fmt.Sprintf(
			"%s has one process for all sessions, so their credentials cannot be each session's own (HARNESS_RUNTIME_CREDENTIALS): "+
				"add %s=%s or %s=%s, and restart the server", name, name, environment.LevelNamespaced, name,
			environment.LevelShared)
	}
}

func newCodex(s *runtimes, confined Confinement) (runtime.Adapter, error) {
	setup := s.setup(codex.Name, confined)
	setup.Launch.Env = append(s.codexEnv(), setup.Launch.Env...)
	s.codex = codex.New(codex.Options{Bin: CodexBin(s.cfg), Home: s.cfg.CodexHome, Setup: setup,
		Implicit: s.sessions.Registry.ImplicitSources, UnloadAfter: unloadIdle, RecycleBytes: int64(s.cfg.LimitsOf(codex.Name).MemoryMB) << 20})
	return s.codex, nil
}

func newClaude(s *runtimes, confined Confinement) (runtime.Adapter, error) {
	setup, err := s.setupWithHome(claude.Name, confined)
	if err != nil {
		return nil, err
	}
	return claude.New(s.cfg.ClaudeBin, setup), nil
}

// codexEnv passes on the model's key, whatever its source; it is the only secret of the server's settings that codex
// gets.
func (s *runtimes) codexEnv() []string {
	if s.cfg.OpenAIAPIKey == "" {
		return nil
	}
	return []string{"OPENAI_API_KEY=" + s.cfg.OpenAIAPIKey}
}

// RuntimeNames returns the runtimes that this program supports.
func RuntimeNames() []string { return namesOf(runtimeTable()) }

func namesOf(table []RuntimeMaker) []string {
	var names []string
	for _, one := range table {
		names = append(names, one.name)
	}
	return names
}

// surviving returns the generations of this server's runtimes that an earlier server left, running or with unread
// output.
func (s *runtimes) surviving() ([]string, error) {
	own, _, err := s.foundShims()
	var generations []string
	for _, f := range own {
		// A generation without a name has no running process: its server was killed before it recorded the runtime.
		if f.State.Runtime != "" {
			generations = append(generations, f.Generation)
		}
	}
	return generations, err
}

// endStrangers ends running processes of runtimes that are no longer configured: no server would read their output. The
// output stays.
func (s *runtimes) endStrangers(ctx context.Context) error {
	_, strange, err := s.foundShims()
	for _, f := range strange {
		if !f.Alive {
			continue
		}
		s.log.Warn().Str("runtime", f.State.Runtime).Str("generation", f.Generation).
			Msg("a runtime that this server does not run (HARNESS_RUNTIMES, HARNESS_ROLES) still runs; ending it")
		if _, _, err := shim.Reap(ctx, f); err != nil {
			s.log.Error().Err(err).Str("generation", f.Generation).Msg("cannot end a runtime of an earlier server")
		}
	}
	return err
}

// foundShims returns the shims of earlier servers: those of runtimes that this server runs, and the others.
func (s *runtimes) foundShims() (own, strange []shim.Found, err error) {
	found, err := shim.Discover(s.shims.RunDir)
	for _, f := range found {
		// A shim that failed to start may lack its name: codex's adapter handles it.
		name := cmp.Or(f.State.Runtime, codex.Name)
		if slices.ContainsFunc(s.makers, func(one RuntimeMaker) bool {
			return s.cfg.Runs() && one.name == name && one.why(s.cfg) == ""
		}) {
			own = append(own, f)
		} else {
			strange = append(strange, f)
		}
	}
	return own, strange, err
}
