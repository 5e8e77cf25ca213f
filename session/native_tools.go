package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/database"
	"harness/runtime"
)

// chosenNativeTools is whether the agent of a new session has tools of its own: *runtime.ControlError where its runtime
// cannot be told to have none.
func chosenNativeTools(adapter runtime.Adapter, wish string) (string, error) {
	enforced := []string{runtime.NativeToolsOn}
	if runtime.CapabilitiesOf(adapter).NativeToolsOff {
		enforced = append(enforced, runtime.NativeToolsOff)
	}
	switch {
	case wish == "" || wish == runtime.NativeToolsOn:
		return runtime.NativeToolsOn, nil
	case wish == runtime.NativeToolsOff && len(enforced) > 1:
		return wish, nil
	}
	return "", &runtime.ControlError{Runtime: adapter.Name(), Field: "nativeTools", Value: wish, Enforced: enforced}
}

// NativeToolsOff tells whether the agent of a session is to have no tools of its own; false of one that is not stored.
func (s *Service) NativeToolsOff(ctx context.Context, sessionID string) (bool, error) {
	var stored string
	err := s.db.Read().QueryRowContext(ctx, `select native_tools from session_sources where session_id = $1`,
		database.EncodeText(sessionID)).Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read whether the agent of session %s has tools of its own: %w", sessionID, err)
	}
	return stored == runtime.NativeToolsOff, nil
}
