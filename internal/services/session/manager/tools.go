package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// clientTool is a tool as it is compared.
type clientTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema any    `json:"inputSchema"`
}

// parseTools reads a list of tools by name; none of nil.
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

// checkTools refuses with *ToolsError client tools that are not those the session has. wanted nil asks for none in
// particular.
func (s *Service) checkTools(ctx context.Context, sessionID string, wanted json.RawMessage) error {
	if len(wanted) == 0 {
		return nil
	}
	want, err := parseTools(wanted)
	if err != nil {
		return err
	}
	var stored sql.NullString
	err = s.db.Read().QueryRowContext(ctx, `select dynamic_tools from sessions where id = $1`,
		database.EncodeText(sessionID)).Scan(&stored)
	if err != nil {
		return fmt.Errorf("read the tools of session %s: %w", sessionID, err)
	}
	has, err := parseTools([]byte(stored.String))
	if err != nil {
		return fmt.Errorf("session %s: %w", sessionID, err)
	}
	if reflect.DeepEqual(want, has) {
		return nil // a session made elsewhere is taken to have none, as long as none are asked for
	}
	refused := &session.ToolsError{SessionID: sessionID, Known: stored.Valid}
	for _, tool := range has {
		refused.Names = append(refused.Names, tool.Name)
	}
	return refused
}

// storeTools notes the tools a session is made with.
func storeTools(ctx context.Context, tx database.Tx, sessionID string, tools json.RawMessage) error {
	if len(tools) == 0 {
		tools = json.RawMessage("[]")
	}
	return updateSession(ctx, tx, sessionID, `dynamic_tools = $2`, database.EncodeText(string(tools)))
}
