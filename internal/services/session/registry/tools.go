package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// clientTool is a tool in comparable form.
type clientTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema any    `json:"inputSchema"`
}

// parseTools parses a list of tools and sorts it by name; nil yields none.
func parseTools(raw []byte) ([]clientTool, error) {
	tools := []clientTool{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &tools); err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
	}
	slices.SortStableFunc(tools, func(a, b clientTool) int { return strings.Compare(a.Name, b.Name) })
	return tools, nil
}

// CheckTools refuses client tools that differ from the session's: *ToolsError. A nil wanted accepts any.
func (r *Registry) CheckTools(ctx context.Context, sessionID string, wanted json.RawMessage) error {
	if len(wanted) == 0 {
		return nil
	}
	want, err := parseTools(wanted)
	if err != nil {
		return err
	}
	var stored sql.NullString
	err = r.db.Read().QueryRowContext(ctx, `select dynamic_tools from sessions where id = $1`,
		database.EncodeText(sessionID)).Scan(&stored)
	if err != nil {
		return fmt.Errorf("read the tools of session %s: %w", sessionID, err)
	}
	has, err := parseTools([]byte(stored.String))
	if err != nil {
		return fmt.Errorf("session %s: %w", sessionID, err)
	}
	if reflect.DeepEqual(want, has) {
		return nil // a session created elsewhere has none, unless a client requests some
	}
	refused := &session.ToolsError{SessionID: sessionID, Known: stored.Valid}
	for _, tool := range has {
		refused.Names = append(refused.Names, tool.Name)
	}
	return refused
}

// ChosenNativeTools returns whether the agent of a new session has native tools. It returns *runtime.ControlError if
// the runtime cannot disable them. It also does so if the client requests them but the server disables them.
func (r *Registry) ChosenNativeTools(adapter runtime.Adapter, wish string) (string, error) {
	refused := &runtime.ControlError{Runtime: adapter.Name(), Field: "nativeTools", Value: wish}
	if r.options.NativeToolsOff {
		refused.Because = ", as this server's agents have none (HARNESS_NATIVE_TOOLS=off)"
	}
	can := runtime.CapabilitiesOf(adapter).NativeToolsOff
	switch {
	case r.options.NativeToolsOff && !can:
		refused.Value = runtime.NativeToolsOff
		return "", refused
	case r.options.NativeToolsOff && wish == runtime.NativeToolsOn:
		refused.Enforced = []string{runtime.NativeToolsOff}
		return "", refused
	case r.options.NativeToolsOff, can && wish == runtime.NativeToolsOff:
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

// NativeToolsOff reports whether the agent of a session must not have native tools. It returns false for a session
// that is not stored, unless the server disables them in all sessions.
func (r *Registry) NativeToolsOff(ctx context.Context, sessionID string) (bool, error) {
	if r.options.NativeToolsOff {
		return true, nil
	}
	var stored string
	err := r.db.Read().QueryRowContext(ctx, `select native_tools from session_sources where session_id = $1`,
		database.EncodeText(sessionID)).Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read whether the agent of session %s has tools of its own: %w", sessionID, err)
	}
	return stored == runtime.NativeToolsOff, nil
}
