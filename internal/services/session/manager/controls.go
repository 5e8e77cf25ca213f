package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
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
	return decodeControls(stored, s.opts.Defaults)
}

// effective turns a row into what the rest of the product sees: title and controls are always set.
func (stored storedSession) effective(defaults session.Controls) (session.Session, error) {
	sess := stored.Session
	if sess.Title == "" {
		sess.Title = session.NewChatTitle
	}
	sess.Controls = defaults.Complete()
	if stored.controls.Valid {
		controls, err := decodeControls(stored.controls.String, defaults)
		if err != nil {
			return session.Session{}, fmt.Errorf("controls of session %s: %w", sess.ID, err)
		}
		sess.Controls = controls
	}
	return sess, nil
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

func encodeControls(controls *session.Controls) (sql.NullString, error) {
	if controls == nil {
		return sql.NullString{}, nil
	}
	for key, value := range controls.Settings {
		if !json.Valid(value) {
			return sql.NullString{}, fmt.Errorf("encode controls: setting %q is not JSON", key)
		}
	}
	return sql.NullString{String: string(javascript.MustEncode(session.PlainControls(controls.Complete()))), Valid: true}, nil
}

// decodeControls reads stored controls; fields an older version did not store come from the defaults.
func decodeControls(stored string, defaults session.Controls) (session.Controls, error) {
	controls := defaults
	controls.Settings = nil
	if err := json.Unmarshal([]byte(stored), &controls); err != nil {
		return session.Controls{}, fmt.Errorf("decode stored controls: %w", err)
	}
	return controls.Complete(), nil
}

func storeControls(ctx context.Context, tx database.Tx, sessionID string, controls session.Controls) error {
	encoded, err := encodeControls(&controls)
	if err != nil {
		return err
	}
	return updateSession(ctx, tx, sessionID, `controls = $2`, encoded)
}
