package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// defaults are the controls of a session that never had any: the stored ones, else the configured ones. Locked ones are
// the configured ones, whatever was stored before they were locked.
func (s *Service) defaults(ctx context.Context, q database.Querier) (session.Controls, error) {
	if s.opts.DefaultsLocked {
		return s.opts.Defaults.Complete(), nil
	}
	var stored string
	err := q.QueryRowContext(ctx, `select controls from default_controls where id = 1`).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return s.opts.Defaults.Complete(), nil
	}
	if err != nil {
		return session.Controls{}, fmt.Errorf("read default controls: %w", err)
	}
	return store.DecodeControls(stored, s.opts.Defaults)
}

// checkControls refuses levels a runtime does not enforce: *runtime.ControlError.
func checkControls(adapter runtime.Adapter, c session.Controls) error {
	return runtime.CapabilitiesOf(adapter).CheckControls(adapter.Name(), c.ApprovalPolicy, c.FilesystemSandbox,
		c.NetworkAccess)
}

// checkChangedControls is checkControls for a session of a named runtime; levels it had before stay allowed. A runtime
// that is not configured any more refuses every turn anyway.
func (s *Service) checkChangedControls(runtimeName string, before, after session.Controls) error {
	adapter, _ := s.Adapter(runtimeName)
	if adapter == nil {
		return nil
	}
	changed := func(was, is string) string {
		if was == is {
			return ""
		}
		return is
	}
	if !before.Unrestrictable() {
		if err := checkNetwork(adapter, after, false); err != nil {
			return err
		}
	}
	return checkControls(adapter, session.Controls{ApprovalPolicy: changed(before.ApprovalPolicy, after.ApprovalPolicy),
		FilesystemSandbox: changed(before.FilesystemSandbox, after.FilesystemSandbox),
		NetworkAccess:     changed(before.NetworkAccess, after.NetworkAccess)})
}

// networkOfNew is the controls of a new session whose client did not name the network. A client of codex-manager is shown the
// default, as ever, with what it comes to.
func networkOfNew(adapter runtime.Adapter, c, defaults session.Controls, runtimeNamed bool) session.Controls {
	if runtimeNamed || !runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return c.OpenNetwork()
	}
	c.NetworkAccess, c.NetworkBefore = defaults.NetworkAccess, ""
	return c
}

// checkNetwork refuses to restrict the network in a sandbox that restricts nothing: *runtime.ControlError. A runtime that
// takes the pair as it is sent takes it unless strict.
func checkNetwork(adapter runtime.Adapter, c session.Controls, strict bool) error {
	if !c.Unrestrictable() || !strict && runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return nil
	}
	return &runtime.ControlError{Runtime: adapter.Name(), Field: "networkAccess", Value: session.NetworkRestricted,
		Enforced: []string{session.NetworkEnabled},
		Because:  ", because danger-full-access restricts nothing; name the network enabled, or leave it out"}
}
