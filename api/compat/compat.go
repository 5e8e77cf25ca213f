// Package compat serves the routes of codex-manager that are about its one provider: models, account, configuration,
// skills, apps, MCP servers, commands. They are passed through in codex's words to the adapter of the mount, and
// answered with its words. It is the only package of REST that knows a provider's method names.
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

// Options are what a Mount stands on. Runtime may be nil, Clock too.
type Options struct {
	// Operations knows the runtimes of the server. Provider is the name of the one the routes are about.
	Operations *operations.Service
	Provider   string
	// Runtime takes the requests that are passed through. nil: they are refused with runtime.ErrUnavailable.
	Runtime runtime.RawCaller
	// Status is the state of that runtime. It must not block.
	Status func() runtime.Status
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Mount are the routes about one provider.
type Mount struct {
	opts   Options
	probes probes
}

// New makes a Mount.
func New(options Options) *Mount {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Mount{opts: options}
}

// Routes are all of them. Those of models and capabilities answer for every runtime, the others for the provider alone.
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

// call passes a request through; params nil sends none.
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
