package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// defaults are the controls of a session that never had any: the stored ones, else the configured ones. Locked ones are
// the configured ones, whatever was stored before they were locked.
func (s *Service) defaults(ctx context.Context, q database.Querier) (Controls, error) {
	if s.opts.DefaultsLocked {
		return s.opts.Defaults.complete(), nil
	}
	var stored string
	err := q.QueryRowContext(ctx, `select controls from default_controls where id = 1`).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return s.opts.Defaults.complete(), nil
	}
	if err != nil {
		return Controls{}, fmt.Errorf("read default controls: %w", err)
	}
	return decodeControls(stored, s.opts.Defaults)
}

// effective turns a row into what the rest of the product sees: title and controls are always set.
func (stored storedSession) effective(defaults Controls) (Session, error) {
	session := stored.Session
	if session.Title == "" {
		session.Title = NewChatTitle
	}
	session.Controls = defaults.complete()
	if stored.controls.Valid {
		controls, err := decodeControls(stored.controls.String, defaults)
		if err != nil {
			return Session{}, fmt.Errorf("controls of session %s: %w", session.ID, err)
		}
		session.Controls = controls
	}
	return session, nil
}

// complete makes Settings an object, so that it never shows as null, and ends what does not go with the approval
// policy.
func (c Controls) complete() Controls {
	if c.Settings == nil {
		c.Settings = map[string]json.RawMessage{}
	}
	c.AcceptEdits = c.AcceptEdits && c.ApprovalPolicy == policyOnRequest
	return c
}

// with overlays what a client asked for.
func (c Controls) with(model, approval, network, sandbox *string) Controls {
	before := c
	if model != nil {
		c.Model = model
	}
	for target, wish := range map[*string]*string{&c.ApprovalPolicy: approval, &c.NetworkAccess: network,
		&c.FilesystemSandbox: sandbox} {
		if wish != nil {
			*target = *wish
		}
	}
	return c.settleNetwork(before, network != nil)
}

func (c Controls) model() string {
	if c.Model == nil {
		return ""
	}
	return *c.Model
}

// checkControls refuses levels a runtime does not enforce: *runtime.ControlError.
func checkControls(adapter runtime.Adapter, c Controls) error {
	return runtime.CapabilitiesOf(adapter).CheckControls(adapter.Name(), c.ApprovalPolicy, c.FilesystemSandbox,
		c.NetworkAccess)
}

// checkChangedControls is checkControls for a session of a named runtime; levels it had before stay allowed. A runtime
// that is not configured any more refuses every turn anyway.
func (s *Service) checkChangedControls(runtimeName string, before, after Controls) error {
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
	if !before.unrestrictable() {
		if err := checkNetwork(adapter, after, false); err != nil {
			return err
		}
	}
	return checkControls(adapter, Controls{ApprovalPolicy: changed(before.ApprovalPolicy, after.ApprovalPolicy),
		FilesystemSandbox: changed(before.FilesystemSandbox, after.FilesystemSandbox),
		NetworkAccess:     changed(before.NetworkAccess, after.NetworkAccess)})
}

func encodeControls(controls *Controls) (sql.NullString, error) {
	if controls == nil {
		return sql.NullString{}, nil
	}
	for key, value := range controls.Settings {
		if !json.Valid(value) {
			return sql.NullString{}, fmt.Errorf("encode controls: setting %q is not JSON", key)
		}
	}
	return sql.NullString{String: string(encode(plainControls(controls.complete()))), Valid: true}, nil
}

// decodeControls reads stored controls; fields an older version did not store come from the defaults.
func decodeControls(stored string, defaults Controls) (Controls, error) {
	controls := defaults
	controls.Settings = nil
	if err := json.Unmarshal([]byte(stored), &controls); err != nil {
		return Controls{}, fmt.Errorf("decode stored controls: %w", err)
	}
	return controls.complete(), nil
}

func storeControls(ctx context.Context, tx database.Tx, sessionID string, controls Controls) error {
	encoded, err := encodeControls(&controls)
	if err != nil {
		return err
	}
	return updateSession(ctx, tx, sessionID, `controls = $2`, encoded)
}
