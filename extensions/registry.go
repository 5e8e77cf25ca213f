package extensions

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"harness/extensions/sdk"
)

// Options configure a Registry. Zero fields select the defaults named here.
type Options struct {
	// Roots are searched for extensions; Native are the compiled-in ones. Only, if set, is the only folder (its real
	// path) that is read.
	Roots  []Root
	Only   string
	Native []sdk.Extension
	// Hosts run the extensions, by Kind; the host of kind "embedded" serves extensions that name none.
	Hosts []Host
	// Runtimes are the names from which agent.config.json may choose a worker's runtime.
	Runtimes []string
	Trust    TrustPolicy
	// Profile defaults to codex-manager 1.0.0.
	Profile sdk.Profile
	// HandlerTimeout bounds a handler that sets no timeout (30 s), LoadTimeout the load of one extension (10 s).
	HandlerTimeout, LoadTimeout time.Duration
	// Jobs, Settings and Actions serve handlers. Each may be nil: enqueueJob then fails, the getters are absent,
	// actions fail.
	Jobs     Jobs
	Settings Settings
	Actions  Actions
	// AgentTools receives the tools that manifests declare; if nil, they are ignored.
	AgentTools AgentTools
	// Observe, if set, is called with every dispatch that had handlers. It must not block.
	Observe func(Summary)
	Logger  zerolog.Logger
}

// TrustPolicy decides which extensions may run.
type TrustPolicy struct {
	// Mode defaults to warn.
	Mode TrustMode
	// ProcessAllowed are the manifest names that may run in a process when Mode is enforced.
	ProcessAllowed []string
	// Consent returns an error with the remedy unless the operator consented to a folder that runs in a process, and to
	// further files outside it. It is called before each start, in every mode; nil consents to all.
	Consent func(folder string, further []string) error
}

func (o *Options) setDefaults() {
	if o.Trust.Mode == "" {
		o.Trust.Mode = TrustWarn
	}
	if o.Profile.RuntimeProfileID == "" {
		o.Profile = sdk.Profile{RuntimeProfileID: "codex-manager", RuntimeProfileVersion: "1.0.0",
			CoreAPIVersion: sdk.AgentRuntimeCoreAPIVersion}
	}
	if o.HandlerTimeout <= 0 {
		o.HandlerTimeout = defaultTimeout
	}
	if o.LoadTimeout <= 0 {
		o.LoadTimeout = 10 * time.Second
	}
	if o.Observe == nil {
		o.Observe = func(Summary) {}
	}
}

// Registry holds the loaded extensions and sends them events. The active set is immutable and swapped as a whole: an
// emit uses either all old or all new handlers.
type Registry struct {
	opts      Options
	hosts     map[string]Host
	active    atomic.Pointer[snapshot]
	reloading atomic.Bool
	untrusted atomic.Pointer[[]*LoadError] // see Listing

	lifecycle sync.Mutex
	closed    bool
	closing   sync.WaitGroup // one per snapshot that is closing
}

// New makes an empty registry. Load fills it.
func New(opts Options) *Registry {
	opts.setDefaults()
	r := &Registry{opts: opts, hosts: map[string]Host{}}
	for _, host := range opts.Hosts {
		r.hosts[host.Kind()] = host
	}
	r.active.Store(newSnapshot("bootstrap", time.Unix(0, 0), nil, opts.HandlerTimeout))
	return r
}

// Listing describes the active snapshot.
type Listing struct {
	SnapshotVersion string
	LoadedAt        time.Time
	Modules         []ModuleInfo
	// Health is the state of each module, in the order of Modules.
	Health []Health
	// Untrusted are the extensions that the last load or reload did not run because the operator's consent is missing.
	Untrusted []*LoadError
}

// List describes the loaded extensions.
func (r *Registry) List() Listing {
	s := r.acquire()
	defer s.release()
	listing := Listing{SnapshotVersion: s.version, LoadedAt: s.loadedAt, Modules: s.infos}
	if untrusted := r.untrusted.Load(); untrusted != nil {
		listing.Untrusted = *untrusted
	}
	for _, module := range s.modules {
		listing.Health = append(listing.Health, module.Health())
	}
	return listing
}

// TrustMode returns the trust mode of all extensions.
func (r *Registry) TrustMode() TrustMode { return r.opts.Trust.Mode }

// SnapshotVersion returns the version of the active snapshot.
func (r *Registry) SnapshotVersion() string { return r.active.Load().version }

// Subscribed reports whether a handler is registered for events of a type. It costs one map lookup.
func (r *Registry) Subscribed(eventType string) bool {
	return len(r.active.Load().byEvent[eventType]) > 0
}

// Load fills the registry at startup: it reports and skips extensions that cannot be loaded.
func (r *Registry) Load(ctx context.Context) []*LoadError {
	modules, problems := r.build(ctx)
	r.swap(r.newSnapshot(modules))
	for _, problem := range problems {
		r.opts.Logger.Warn().Str("extension", problem.Extension).Str("code", string(problem.Code)).
			Msg("extension is not loaded: " + problem.Message)
	}
	return problems
}

// ReloadCode is the outcome of a reload.
type ReloadCode string

// The outcomes of a reload.
const (
	Reloaded         ReloadCode = "ok"
	ReloadFailed     ReloadCode = "reload_failed"
	ReloadInProgress ReloadCode = "reload_in_progress"
)

// ReloadResult is the outcome of a reload.
type ReloadResult struct {
	Code     ReloadCode
	ReloadID string
	// SnapshotBefore was active when the reload started; SnapshotVersion is active after it.
	SnapshotBefore, SnapshotVersion string
	LoadedAt                        time.Time
	Modules                         []ModuleInfo
	Errors                          []*LoadError
}

// Reload loads all extensions and swaps them in as one set. If any cannot be loaded, the active set stays. Only one
// reload runs at a time; a second call is refused immediately. reloadID may be empty.
func (r *Registry) Reload(ctx context.Context, reloadID string) ReloadResult {
	if reloadID == "" {
		reloadID = uuid.NewString()
	}
	before := r.SnapshotVersion()
	result := ReloadResult{ReloadID: reloadID, SnapshotBefore: before, SnapshotVersion: before, Errors: []*LoadError{}}
	if !r.reloading.CompareAndSwap(false, true) {
		result.Code = ReloadInProgress
		return result
	}
	defer r.reloading.Store(false)
	modules, problems := r.build(ctx)
	if len(problems) > 0 {
		r.closeModules(modules)
		result.Code, result.Errors = ReloadFailed, problems
		return result
	}
	next := r.newSnapshot(modules)
	result.Code, result.SnapshotVersion, result.LoadedAt, result.Modules =
		Reloaded, next.version, next.loadedAt, next.infos
	r.swap(next)
	return result
}

func (r *Registry) newSnapshot(modules []loaded) *snapshot {
	s := newSnapshot(uuid.NewString(), time.Now(), modules, r.opts.HandlerTimeout)
	s.tools = r.toolsOf(s, modules)
	s.agents = readAgentPolicies(r.opts.Roots, r.opts.Runtimes)
	for _, problem := range s.agents.problems() {
		r.opts.Logger.Warn().Err(problem).Msg("an agent's workers are refused")
	}
	return s
}

// acquire takes the active snapshot for use.
func (r *Registry) acquire() *snapshot {
	for {
		if s := r.active.Load(); s.acquire() {
			return s
		}
		// The snapshot was replaced between the two steps: the pointer now holds its successor.
	}
}

// swap activates a snapshot. The previous one is closed after its last emit. After Close no snapshot becomes active.
func (r *Registry) swap(next *snapshot) {
	r.lifecycle.Lock()
	defer r.lifecycle.Unlock()
	if r.closed {
		r.closeAll(next.modules)
		return
	}
	r.replace(next)
}

// replace is swap under the lifecycle lock.
func (r *Registry) replace(next *snapshot) {
	previous := r.active.Load()
	previous.retired = func() {
		go func() {
			defer r.closing.Done()
			r.closeAll(previous.modules)
		}()
	}
	r.closing.Add(1)
	r.active.Store(next)
	if r.opts.AgentTools != nil {
		r.opts.AgentTools.Use(next.tools)
	}
	previous.release()
}

func (r *Registry) closeModules(modules []loaded) {
	all := make([]Module, len(modules))
	for i, m := range modules {
		all[i] = m.module
	}
	r.closeAll(all)
}

// closeTimeout bounds the closing of one module.
const closeTimeout = 5 * time.Second

func (r *Registry) closeAll(modules []Module) {
	var group sync.WaitGroup
	for _, module := range modules {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			if err := module.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
				r.opts.Logger.Warn().Err(err).Msg("an extension did not close cleanly")
			}
		})
	}
	group.Wait()
}

// Close unloads all extensions and waits for that, at most until ctx ends. Later emits find no handlers. Calling it
// twice is allowed.
func (r *Registry) Close(ctx context.Context) error {
	r.lifecycle.Lock()
	if !r.closed {
		r.closed = true
		r.replace(newSnapshot("closed", time.Now(), nil, r.opts.HandlerTimeout))
	}
	r.lifecycle.Unlock()
	done := make(chan struct{})
	go func() {
		r.closing.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("extensions were still being closed"), ctx.Err())
	}
}
