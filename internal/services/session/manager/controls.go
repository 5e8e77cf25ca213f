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
	adapter, _ := s.adapter(runtimeName)
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
