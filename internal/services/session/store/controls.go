package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// Effective completes a row for the other packages: title and controls are always set.
func (stored Session) Effective(defaults session.Controls) (session.Session, error) {
	sess := stored.Session
	if sess.Title == "" {
		sess.Title = session.NewChatTitle
	}
	sess.Controls = defaults.Complete()
	if stored.controls.Valid {
		controls, err := DecodeControls(stored.controls.String, defaults)
		if err != nil {
			return session.Session{}, fmt.Errorf("controls of session %s: %w", sess.ID, err)
		}
		sess.Controls = controls
	}
	return sess, nil
}

// EncodeControls encodes controls for their column; nil is null.
func EncodeControls(controls *session.Controls) (sql.NullString, error) {
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

// DecodeControls decodes stored controls; fields that an older version did not store come from the defaults.
func DecodeControls(stored string, defaults session.Controls) (session.Controls, error) {
	controls := defaults
	controls.Settings = nil
	if err := json.Unmarshal([]byte(stored), &controls); err != nil {
		return session.Controls{}, fmt.Errorf("decode stored controls: %w", err)
	}
	return controls.Complete(), nil
}

// StoreControls replaces the controls of a session.
func StoreControls(ctx context.Context, tx database.Tx, sessionID string, controls session.Controls) error {
	encoded, err := EncodeControls(&controls)
	if err != nil {
		return err
	}
	return UpdateSession(ctx, tx, sessionID, `controls = $2`, encoded)
}
