package manager

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Attach adds a runtime. Service and adapter need each other (the adapter wants a Sink), so adapters usually come after
// New.
func (s *Service) Attach(adapter runtime.Adapter) {
	s.adaptersMu.Lock()
	defer s.adaptersMu.Unlock()
	s.adapters = append(s.adapters, adapter)
}

// Runtimes are the names of the runtimes this server has, the default one first.
func (s *Service) Runtimes() []string {
	var names []string
	for _, adapter := range s.allAdapters() {
		if adapter.Name() == s.opts.DefaultRuntime {
			names = slices.Insert(names, 0, adapter.Name())
		} else {
			names = append(names, adapter.Name())
		}
	}
	return names
}

// Chosen finds a runtime by its name, the default one for "". *UnknownRuntimeError.
func (s *Service) Chosen(name string) (runtime.Adapter, error) {
	if name == "" {
		name = s.opts.DefaultRuntime
	}
	known := s.allAdapters()
	for _, adapter := range known {
		if name == "" || adapter.Name() == name {
			return adapter, nil
		}
	}
	return nil, &session.UnknownRuntimeError{Runtime: name, Known: s.Runtimes()}
}

// adapter finds the runtime of a session that exists. runtime.ErrUnavailable when this server does not have it any
// more.
func (s *Service) adapter(name string) (runtime.Adapter, error) {
	for _, adapter := range s.allAdapters() {
		if adapter.Name() == name {
			return adapter, nil
		}
	}
	return nil, fmt.Errorf("%w: no runtime named %q is configured: add it to HARNESS_RUNTIMES",
		runtime.ErrUnavailable, name)
}

func (s *Service) allAdapters() []runtime.Adapter {
	s.adaptersMu.RLock()
	defer s.adaptersMu.RUnlock()
	return slices.Clone(s.adapters)
}

func (s *Service) levelsOf(runtimeName string) session.RuntimeLevels {
	if s.opts.RuntimeLevels == nil {
		return session.RuntimeLevels{}
	}
	return s.opts.RuntimeLevels(runtimeName)
}

// defaultsFor are the default controls for a runtime's sessions: a model is one of the default runtime's, and it may
// have levels of its own.
func (s *Service) defaultsFor(runtimeName string, defaults session.Controls) session.Controls {
	levels := s.levelsOf(runtimeName)
	defaults.ApprovalPolicy = cmp.Or(levels.ApprovalPolicy, defaults.ApprovalPolicy)
	defaults.FilesystemSandbox = cmp.Or(levels.Sandbox, defaults.FilesystemSandbox)
	if preferred, err := s.Chosen(""); err != nil || preferred.Name() != runtimeName {
		defaults.Model = nil
	}
	return defaults
}

// checkRuntime refuses the name of a runtime that neither this server nor any stored session has.
func (s *Service) checkRuntime(ctx context.Context, q database.Querier, name string) error {
	if known := s.Runtimes(); !slices.Contains(known, name) {
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
