package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// chosenNativeTools is whether the agent of a new session has tools of its own: *runtime.ControlError where its runtime
// cannot be told to have none, or may have none.
func (s *Service) chosenNativeTools(adapter runtime.Adapter, wish string) (string, error) {
	refused := &runtime.ControlError{Runtime: adapter.Name(), Field: "nativeTools", Value: wish}
	if s.opts.NativeToolsOff {
		refused.Because = ", as this server's agents have none (HARNESS_NATIVE_TOOLS=off)"
	}
	can := runtime.CapabilitiesOf(adapter).NativeToolsOff
	switch {
	case s.opts.NativeToolsOff && !can:
		refused.Value = runtime.NativeToolsOff
		return "", refused
	case s.opts.NativeToolsOff && wish == runtime.NativeToolsOn:
		refused.Enforced = []string{runtime.NativeToolsOff}
		return "", refused
	case s.opts.NativeToolsOff, can && wish == runtime.NativeToolsOff:
		return runtime.NativeToolsOff, nil
	case wish == "" || wish == runtime.NativeToolsOn:
		return runtime.NativeToolsOn, nil
	}
	refused.Enforced = []string{runtime.NativeToolsOn}
	if can {
		refused.Enforced = append(refused.Enforced, runtime.NativeToolsOff)
	}
	return "", refused
}

// NativeToolsOff tells whether the agent of a session is to have no tools of its own; where only some are so, false of
// one that is not stored.
func (s *Service) NativeToolsOff(ctx context.Context, sessionID string) (bool, error) {
	if s.opts.NativeToolsOff {
		return true, nil
	}
	var stored string
	err := s.db.Read().QueryRowContext(ctx, `select native_tools from session_sources where session_id = $1`,
		database.EncodeText(sessionID)).Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read whether the agent of session %s has tools of its own: %w", sessionID, err)
	}
	return stored == runtime.NativeToolsOff, nil
}
