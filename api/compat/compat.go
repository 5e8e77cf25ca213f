// Package compat serves codex-manager's routes about its single provider: models, account, configuration, skills,
// apps, MCP servers, commands.
//
// It owns their paths and passes them through to the adapter of the mount, unchanged. It is the only REST package
// that knows a provider's method names. It must never know a session.
package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/runtime"
)

// Options are the dependencies of a Mount. Runtime and Clock may be nil.
type Options struct {
	// Operations knows the runtimes of the server. Provider is the name of the runtime that the routes are about.
	Operations *operations.Service
	Provider   string
	// Runtime executes the requests that are passed through. nil: they are refused with runtime.ErrUnavailable.
	Runtime runtime.RawCaller
	// Status returns the state of that runtime. It must not block.
	Status func() runtime.Status
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Mount has the routes of one provider.
type Mount struct {
	opts   Options
	probes probes
}

// New creates a Mount.
func New(options Options) *Mount {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Mount{opts: options}
}

// Routes returns all routes. Those for models and capabilities serve every runtime, the others only the provider.
func (m *Mount) Routes() []rest.Route {
	all := m.modelRoutes()
	for _, resource := range [][]rest.Route{m.providerRoutes(), m.accountRoutes(), m.configRoutes()} {
		for _, route := range resource {
			all = append(all, m.ownAlone(route))
		}
	}
	for i := range all {
		all[i].OfRuntimes = all[i].Method == http.MethodGet
	}
	return all
}

// call passes a request through; nil params are omitted.
func (m *Mount) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if m.opts.Provider != "" {
		if err := m.opts.Operations.CheckEnabled(m.opts.Provider); err != nil {
			return nil, err
		}
	}
	if m.opts.Runtime == nil {
		return nil, fmt.Errorf("%w: this server was started without one", runtime.ErrUnavailable)
	}
	return m.opts.Runtime.Call(ctx, method, params)
}
