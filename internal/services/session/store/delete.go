package store

import (
	"context"
	"fmt"
	"slices"

	"harness/internal/platform/database"
)

// keptTables lists tables with a session id that keep their rows when the session is deleted. Other packages delete
// those rows, or the rows outlive the session.
func keptTables() []string {
	return []string{
		"agent_workers", "suggested_requests", // package queue deletes its own
		"artifacts",                              // package artifact deletes them
		"audit_log", "usage_days", "model_usage", // they record what happened
		"deleted_sessions", "thread_deletions", "unneeded_folders", // they record the deletion
		"extension_actions", "extension_dispatches", "extension_file_changes", // package extensions deletes its own
		"journal_archive_sessions", "journal_events", "journal_sequences", // journal.Redact
		"task_marks", "task_sessions", "tasks", // package tasks deletes its own
		"temporary_sessions",        // clients may still use the id
		"tool_calls", "tool_grants", // package tools deletes its own
		"transcript_entries", "transcript_turns", "rolled_back_turns", // transcript.Store.Delete
	}
}

// DeleteRows deletes the rows of a session from every table of the schema with a session id, except keptTables.
func DeleteRows(ctx context.Context, tx database.Tx, engine database.Engine, sessionID string) error {
	tables, err := tablesOfSessions(ctx, tx, engine)
	if err != nil {
		return err
	}
	key := database.EncodeText(sessionID)
	for _, table := range tables {
		if slices.Contains(keptTables(), table) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `delete from `+table+` where session_id = $1`, key); err != nil {
			return fmt.Errorf("delete the %s of session %s: %w", table, sessionID, err)
		}
	}
	if _, err := tx.ExecContext(ctx, `delete from sessions where id = $1`, key); err != nil {
		return fmt.Errorf("delete session %s: %w", sessionID, err)
	}
	return nil
}

// tablesOfSessions lists the tables of the schema with a session id, by name.
func tablesOfSessions(ctx context.Context, q database.Querier, engine database.Engine) ([]string, error) {
	query := `select t.name from sqlite_master t join pragma_table_info(t.name) c on c.name = 'session_id'
		where t.type = 'table' order by t.name`
	if engine == database.Postgres {
		query = `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'session_id'
			where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and not a.attisdropped order by c.relname`
	}
	return database.ReadTexts(ctx, q, "list the tables of sessions", query)
}
