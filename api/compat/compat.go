// Package compat serves codex-manager's routes about its single provider: models, account, configuration, skills,
// apps, MCP servers and commands.
//
// It owns the paths of these routes and passes requests unchanged to the adapter of the mount. It is the only REST
// package that knows a provider's method names. It must never know a session.
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
	// Operations provides the server's runtimes. Provider is the name of the runtime behind these routes.
	Operations *operations.Service
	Provider   string
	// Runtime executes the requests that are passed through. If nil, they fail with runtime.ErrUnavailable.
	Runtime runtime.RawCaller
	// Status returns the state of Provider. It must not block.
	Status func() runtime.Status
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Mount serves the routes of one provider.
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

// Routes returns all routes. The model and capability routes serve every runtime, the others only the provider.
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
