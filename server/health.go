package server

import (
	"context"
	"errors"
	"harness/api"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"slices"
	"time"
)

// health answers the health routes.
type health struct{ *Server }

// Runtime implements api.Health.
func (h health) Runtime() runtime.Status {
	if !h.cfg.Runs() {
		return runtime.Status{State: runtime.StateStopped, Reason: "this node runs no agents (HARNESS_ROLES)"}
	}
	if h.runtimes.codex == nil {
		return runtime.Status{State: runtime.StateStopped, Reason: "codex is none of HARNESS_RUNTIMES"}
	}
	return h.runtimes.codex.Status()
}

// Runtimes implements api.Health.
func (h health) Runtimes() []api.RuntimeHealth {
	if !h.cfg.Runs() {
		return nil
	}
	var all []api.RuntimeHealth
	for _, adapter := range h.runtimes.adapters {
		all = append(all, api.RuntimeHealth{Name: adapter.Name(), Status: adapter.Status()})
	}
	return all
}

// Auth implements api.Health: codex-manager's clients query codex.
func (h health) Auth() api.AuthHealth {
	if h.runtimes.codex == nil {
		return api.AuthHealth{LikelyUnauthenticated: true}
	}
	found, err := h.runtimes.codex.Auth(context.Background()) // it reads files, and does not block
	if err != nil {
		h.log.Error().Err(err).Msg("cannot read codex's credentials")
	}
	return api.AuthHealth{
		HasOpenAIAPIKey:       slices.Contains(found.Credentials, runtime.CredentialAPIKey),
		CodexHomeAuthFile:     slices.Contains(found.Credentials, runtime.CredentialLogin),
		LikelyUnauthenticated: found.State == runtime.AuthMissing,
	}
}

// Store implements api.Health.
func (h health) Store() *journal.OutageError { return h.journal.Outage() }

// Damaged implements api.Health.
func (h health) Damaged() (rows int, since time.Time) {
	return h.damage.Len(), time.UnixMilli(h.damage.since.Load())
}

// Serving implements api.Health.
func (h health) Serving() error {
	if !h.ready.Load() {
		return errors.New("the server is starting or draining")
	}
	return nil
}

// StoreReady implements api.Health.
func (h health) StoreReady(ctx context.Context) error {
	if outage := h.Store(); outage != nil {
		return outage
	}
	if err := h.db.Ping(ctx); err != nil {
		return err
	}
	return h.journal.Probe(ctx)
}
