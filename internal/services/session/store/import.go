package store

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/transcript"
)

// Imported is a session of another control plane. Its runtime has the conversation; the history is imported once the
// runtime runs.
type Imported struct {
	// ID is the runtime's id of the conversation.
	ID, Runtime, NodeID, Title string
	ProjectID                  *string
	// Controls are nil for the server's defaults.
	Controls    *session.Controls
	SystemOwned bool
	// CreatedAt and UpdatedAt are in ms; the runtime's values replace them.
	CreatedAt, UpdatedAt int64
	Entries              []transcript.Entry
}

// ImportResult is the result of an import.
type ImportResult struct {
	// New reports that the session was not here before. An existing one keeps its name, project and controls.
	New bool
	// Entries is the number of new entries.
	Entries int
}

// Import stores a session of another control plane, or adds its missing entries. It returns *DeletedError for a
// session that was deleted here. It returns ErrForeignConversation if another runtime has a session with this id.
func Import(ctx context.Context, tx database.Tx, in Imported) (result ImportResult, err error) {
	stored, err := ReadSession(ctx, tx, in.ID)
	switch {
	case errors.Is(err, session.ErrNotFound):
		result.New = true
		name := ""
		if session.Names(in.Title) {
			name = in.Title
		}
		err = InsertSession(ctx, tx, session.Session{ID: in.ID, Runtime: in.Runtime, RuntimeSessionID: in.ID, NodeID: in.NodeID,
			Title: in.Title, Name: name, SystemOwned: in.SystemOwned, CreatedAt: in.CreatedAt, UpdatedAt: in.UpdatedAt}, in.Controls)
		if err == nil && in.ProjectID != nil {
			err = MoveToProject(ctx, tx, in.ID, in.ProjectID)
		}
	case err == nil && stored.Runtime != in.Runtime:
		err = session.ErrForeignConversation
	}
	if err != nil {
		return ImportResult{}, err
	}
	var store transcript.Store
	before, err := store.Last(ctx, tx, in.ID)
	if err != nil {
		return ImportResult{}, err
	}
	puts := make([]transcript.Put, len(in.Entries))
	for i, entry := range in.Entries {
		puts[i] = transcript.Put{SessionID: in.ID, Entry: entry}
	}
	if err := store.UpsertAll(ctx, tx, puts); err != nil {
		return ImportResult{}, err
	}
	after, err := store.Last(ctx, tx, in.ID)
	result.Entries = int(after - before)
	return result, err
}

// ImportProject stores a project of another control plane unless it exists here. It returns *DuplicateNameError if
// another project has its name.
func ImportProject(ctx context.Context, tx database.Tx, project session.Project) (imported bool, err error) {
	_, err = ReadProject(ctx, tx, project.ID)
	if err == nil || !errors.Is(err, session.ErrProjectNotFound) {
		return false, err
	}
	if err := UniqueName(ctx, tx, project.Name, project.ID); err != nil {
		return false, err
	}
	return true, InsertProject(ctx, tx, project)
}

// ImportDefaults stores the controls of new sessions, unless some are already stored.
func ImportDefaults(ctx context.Context, tx database.Tx, controls session.Controls) (imported bool, err error) {
	encoded, err := EncodeControls(&controls)
	if err != nil {
		return false, err
	}
	result, err := tx.ExecContext(ctx, `insert into default_controls (id, controls) values (1, $1) on conflict do nothing`,
		encoded)
	if err != nil {
		return false, fmt.Errorf("store default controls: %w", err)
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

// IsItem reports whether entries of a type are items of a turn, whose times the runtime reports.
func IsItem(entryType string) bool {
	switch entryType {
	case wire.ItemUserMessage, wire.ItemAgentMessage, wire.ItemReasoning, wire.ItemPlan, wire.ItemCommand,
		wire.ItemFileChange, wire.ItemToolCall, wire.ItemClientTool, wire.ItemCleared:
		return true
	}
	return false
}
