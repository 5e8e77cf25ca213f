// Package registry lists the runtimes of this server.
//
// It owns the runtimes, their default controls, and the options of their new sessions. It must never know how a session
// runs.
package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Options configure Registry.
type Options struct {
	// Adapters are the runtimes to run. Attach may add more.
	Adapters []runtime.Adapter
	// Default names the runtime of sessions that name none; "" is the first one. The stored default model belongs to
	// this runtime.
	Default string
	// Levels returns the levels that replace the general defaults for a runtime's sessions. Nil replaces none.
	Levels func(runtime string) session.RuntimeLevels
	// NativeToolsOff disables agents' native tools in all sessions.
	NativeToolsOff bool
}

// Registry holds the runtimes of a server.
type Registry struct {
	db      *database.DB
	options Options

	mu       sync.RWMutex
	adapters []runtime.Adapter
}

// New builds a Registry.
func New(db *database.DB, options Options) *Registry {
	return &Registry{db: db, options: options, adapters: slices.Clone(options.Adapters)}
}

// Attach adds a runtime. A Service and an adapter need each other (the adapter needs a Sink), so adapters usually come
// after New.
func (r *Registry) Attach(adapter runtime.Adapter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adapters = append(r.adapters, adapter)
}

// Runtimes lists the names of this server's runtimes, starting with the default.
func (r *Registry) Runtimes() []string {
	var names []string
	for _, adapter := range r.Adapters() {
		if adapter.Name() == r.options.Default {
			names = slices.Insert(names, 0, adapter.Name())
		} else {
			names = append(names, adapter.Name())
		}
	}
	return names
}

// Chosen finds a runtime by its name, the default one for "". Its error is *UnknownRuntimeError.
func (r *Registry) Chosen(name string) (runtime.Adapter, error) {
	if name == "" {
		name = r.options.Default
	}
	known := r.Adapters()
	for _, adapter := range known {
		if name == "" || adapter.Name() == name {
			return adapter, nil
		}
	}
	return nil, &session.UnknownRuntimeError{Runtime: name, Known: r.Runtimes()}
}

// Adapter finds the runtime of an existing session. It returns runtime.ErrUnavailable if this server no longer has it.
func (r *Registry) Adapter(name string) (runtime.Adapter, error) {
	for _, adapter := range r.Adapters() {
		if adapter.Name() == name {
			return adapter, nil
		}
	}
	return nil, fmt.Errorf("%w: no runtime named %q is configured: add it to HARNESS_RUNTIMES",
		runtime.ErrUnavailable, name)
}

// Adapters returns all runtimes.
func (r *Registry) Adapters() []runtime.Adapter {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.adapters)
}

// LevelsOf returns the default levels of a runtime's sessions.
func (r *Registry) LevelsOf(runtimeName string) session.RuntimeLevels {
	if r.options.Levels == nil {
		return session.RuntimeLevels{}
	}
	return r.options.Levels(runtimeName)
}

// DefaultsFor returns the default controls of a runtime's sessions: only the default runtime gets the model, and a
// runtime may have its own levels.
func (r *Registry) DefaultsFor(runtimeName string, defaults session.Controls) session.Controls {
	levels := r.LevelsOf(runtimeName)
	defaults.ApprovalPolicy = cmp.Or(levels.ApprovalPolicy, defaults.ApprovalPolicy)
	defaults.FilesystemSandbox = cmp.Or(levels.Sandbox, defaults.FilesystemSandbox)
	if preferred, err := r.Chosen(""); err != nil || preferred.Name() != runtimeName {
		defaults.Model = nil
	}
	return defaults
}

// CheckRuntime refuses a runtime name that neither this server nor any stored session has.
func (r *Registry) CheckRuntime(ctx context.Context, q database.Querier, name string) error {
	if known := r.Runtimes(); !slices.Contains(known, name) {
		var n int64
		err := q.QueryRowContext(ctx, `select count(*) from (select 1 from sessions where runtime = $1 limit 1) stored`,
			name).Scan(&n)
		if err != nil {
			return fmt.Errorf("look for sessions of %s: %w", name, err)
		}
		if n == 0 {
			return &session.UnknownRuntimeError{Runtime: name, Known: known}
		}
	}
	return nil
}
