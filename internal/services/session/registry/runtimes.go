// Package registry lists the runtimes of this server.
//
// It owns which runtimes there are, their default controls, and what a new session of each may ask for. It must never
// know how a session runs.
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
	// Adapters are the runtimes to drive. More may be added with Attach.
	Adapters []runtime.Adapter
	// Default names the runtime of sessions whose creator names none, and whose models the stored default controls are
	// about; "" is the first one.
	Default string
	// Levels are those of sessions of a runtime whose creator names none, in place of the defaults of all. nil is none for
	// any runtime.
	Levels func(runtime string) session.RuntimeLevels
	// NativeToolsOff says that no agent may have tools of its own, whatever its session was opened with.
	NativeToolsOff bool
}

// Registry has the runtimes of a server.
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

// Attach adds a runtime. A Service and an adapter need each other (the adapter wants a Sink), so adapters usually come after
// New.
func (r *Registry) Attach(adapter runtime.Adapter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adapters = append(r.adapters, adapter)
}

// Runtimes are the names of the runtimes this server has, the default one first.
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

// Chosen finds a runtime by its name, the default one for "". *UnknownRuntimeError.
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

// Adapter finds the runtime of a session that exists. runtime.ErrUnavailable when this server does not have it any
// more.
func (r *Registry) Adapter(name string) (runtime.Adapter, error) {
	for _, adapter := range r.Adapters() {
		if adapter.Name() == name {
			return adapter, nil
		}
	}
	return nil, fmt.Errorf("%w: no runtime named %q is configured: add it to HARNESS_RUNTIMES",
		runtime.ErrUnavailable, name)
}

// Adapters are all runtimes.
func (r *Registry) Adapters() []runtime.Adapter {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.adapters)
}

// LevelsOf are the levels of sessions of a runtime whose creator names none.
func (r *Registry) LevelsOf(runtimeName string) session.RuntimeLevels {
	if r.options.Levels == nil {
		return session.RuntimeLevels{}
	}
	return r.options.Levels(runtimeName)
}

// DefaultsFor are the default controls for a runtime's sessions: a model is one of the default runtime's, and it may
// have levels of its own.
func (r *Registry) DefaultsFor(runtimeName string, defaults session.Controls) session.Controls {
	levels := r.LevelsOf(runtimeName)
	defaults.ApprovalPolicy = cmp.Or(levels.ApprovalPolicy, defaults.ApprovalPolicy)
	defaults.FilesystemSandbox = cmp.Or(levels.Sandbox, defaults.FilesystemSandbox)
	if preferred, err := r.Chosen(""); err != nil || preferred.Name() != runtimeName {
		defaults.Model = nil
	}
	return defaults
}

// CheckRuntime refuses the name of a runtime that neither this server nor any stored session has.
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
