package reading

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// DefaultControls returns the controls of sessions without any: the stored ones, else the configured ones. If Locked
// is set, it always returns the configured ones.
func (r *Reader) DefaultControls(ctx context.Context, q database.Querier) (session.Controls, error) {
	if r.options.Locked {
		return r.options.Defaults.Complete(), nil
	}
	var stored string
	err := q.QueryRowContext(ctx, `select controls from default_controls where id = 1`).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return r.options.Defaults.Complete(), nil
	}
	if err != nil {
		return session.Controls{}, fmt.Errorf("read default controls: %w", err)
	}
	return store.DecodeControls(stored, r.options.Defaults)
}

// Controls reads a session's controls and those of new sessions. Errors are *DeletedError and ErrNotFound.
func (r *Reader) Controls(ctx context.Context, sessionID string) (controls, defaults session.Controls, err error) {
	_, controls, defaults, err = r.ControlsIn(ctx, r.db.Read(), sessionID)
	return controls, defaults, err
}

// Defaults reads the controls of new sessions.
func (r *Reader) Defaults(ctx context.Context) (session.Controls, error) {
	return r.DefaultControls(ctx, r.db.Read())
}

// ControlsIn is Controls within a read of the store; it also returns the session's runtime.
func (r *Reader) ControlsIn(ctx context.Context, q database.Querier, sessionID string) (runtime string, controls,
	defaults session.Controls, err error) {
	stored, err := store.ReadSession(ctx, q, sessionID)
	if err != nil {
		return "", session.Controls{}, session.Controls{}, err
	}
	if defaults, err = r.DefaultControls(ctx, q); err != nil {
		return "", session.Controls{}, session.Controls{}, err
	}
	session, err := stored.Effective(r.runtimes.DefaultsFor(stored.Runtime, defaults))
	return stored.Runtime, session.Controls, defaults, err
}
