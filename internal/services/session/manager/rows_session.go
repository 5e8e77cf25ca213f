package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

const sessionColumns = `id, runtime, runtime_session_id, node_id, project_id, title, cwd, source, model_provider, thread, controls,
	system_owned, archived, created_at, updated_at, history_at, capabilities, epoch`

// storedSession is a row: a Session whose controls may be unset and whose title may be "".
type storedSession struct {
	session.Session
	controls sql.NullString
}

func scanSession(row database.Row) (storedSession, error) {
	var (
		stored  storedSession
		project sql.NullString
		thread  string
		owned   int64
		archive int64
		can     string
	)
	s := &stored.Session
	if err := row.Scan(&s.ID, &s.Runtime, &s.RuntimeSessionID, &s.NodeID, &project, &s.Title, &s.Cwd, &s.Source,
		&s.ModelProvider,
		&thread, &stored.controls, &owned, &archive, &s.CreatedAt, &s.UpdatedAt, &s.HistoryAt, &can, &s.Epoch); err != nil {
		return storedSession{}, err
	}
	for _, text := range []*string{&s.ID, &s.RuntimeSessionID, &s.Title, &s.Cwd, &s.Source, &s.ModelProvider} {
		*text = database.DecodeText(*text)
	}
	if project.Valid {
		s.ProjectID = &project.String
	}
	if can != "" {
		s.Capabilities = json.RawMessage(can)
	}
	s.Thread, s.SystemOwned, s.Archived, s.Materialized = json.RawMessage(thread), owned != 0, archive != 0, true
	return stored, nil
}

// readSession returns a session's row: *DeletedError for a deleted session, ErrNotFound when there is no row.
func readSession(ctx context.Context, q database.Querier, id string) (storedSession, error) {
	key := database.EncodeText(id)
	stored, err := scanSession(q.QueryRowContext(ctx, `select `+sessionColumns+` from sessions where id = $1`, key))
	if err == nil {
		return stored, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return storedSession{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if err := readTombstone(ctx, q, id); err != nil {
		return storedSession{}, err
	}
	return storedSession{}, session.ErrNotFound
}

// readTombstone returns *DeletedError when the session was deleted, nil when not.
func readTombstone(ctx context.Context, q database.Querier, id string) error {
	gone := &session.DeletedError{SessionID: id}
	var owned int64
	err := q.QueryRowContext(ctx,
		`select title, deleted_at, runtime, system_owned from deleted_sessions where session_id = $1`, database.EncodeText(id)).
		Scan(&gone.Title, &gone.DeletedAt, &gone.Runtime, &owned)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read tombstone of session %s: %w", id, err)
	}
	gone.Title, gone.SystemOwned = database.DecodeText(gone.Title), owned != 0
	return gone
}

// presence tells whether a session has a row, and whether it is system-owned; *DeletedError and ErrNotFound as
// readSession.
func presence(ctx context.Context, q database.Querier, id string) (systemOwned bool, err error) {
	var owned int64
	err = q.QueryRowContext(ctx, `select system_owned from sessions where id = $1`, database.EncodeText(id)).Scan(&owned)
	if errors.Is(err, sql.ErrNoRows) {
		if err := readTombstone(ctx, q, id); err != nil {
			return false, err
		}
		return false, session.ErrNotFound
	}
	if err != nil {
		return false, fmt.Errorf("read session %s: %w", id, err)
	}
	return owned != 0, nil
}

// insertSession writes a row, over a placeholder if a signal made one already.
func insertSession(ctx context.Context, tx database.Tx, s session.Session, controls *session.Controls) error {
	encoded, err := encodeControls(controls)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, `insert into sessions (`+sessionColumns+`)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		on conflict (id) do update set runtime_session_id = excluded.runtime_session_id, node_id = excluded.node_id,
			title = excluded.title, cwd = excluded.cwd, source = excluded.source,
			model_provider = excluded.model_provider, thread = excluded.thread, controls = excluded.controls,
			system_owned = excluded.system_owned, created_at = excluded.created_at, updated_at = excluded.updated_at,
			history_at = excluded.history_at, capabilities = excluded.capabilities
		where sessions.runtime = excluded.runtime`,
		database.EncodeText(s.ID), s.Runtime, database.EncodeText(s.RuntimeSessionID), s.NodeID, nullText(s.ProjectID),
		database.EncodeText(s.Title), database.EncodeText(s.Cwd), database.EncodeText(s.Source),
		database.EncodeText(s.ModelProvider), threadText(s.Thread), encoded, flag(s.SystemOwned), flag(s.Archived),
		s.CreatedAt, s.UpdatedAt, s.HistoryAt, string(s.Capabilities), s.Epoch)
	if err != nil {
		return fmt.Errorf("store session %s: %w", s.ID, err)
	}
	if stored, err := result.RowsAffected(); err != nil || stored == 0 {
		return errors.Join(err,
			journal.Refuse(fmt.Errorf("store session %s of %s: %w", s.ID, s.Runtime, session.ErrForeignConversation)))
	}
	return nil
}

// placeholderThread is stored until the runtime has been asked for its own description.
const placeholderThread = "null"

// placeholder is a conversation of which only the id is known, and whether it is a worker's.
type placeholder struct {
	id, runtime, node string
	systemOwned       bool
	at                int64 // ms
}

// insertPlaceholder makes a row for a conversation that a signal named or a worker is to have.
func insertPlaceholder(ctx context.Context, tx database.Tx, p placeholder) error {
	id := p.id
	_, err := tx.ExecContext(ctx, `insert into sessions (`+sessionColumns+`)
		values ($1, $2, $1, $3, null, '', '', '', '', $4, null, $6, 0, $5, $5, 0, '', 0) on conflict do nothing`,
		database.EncodeText(id), p.runtime, p.node, placeholderThread, p.at, flag(p.systemOwned))
	if err != nil {
		return fmt.Errorf("adopt session %s: %w", id, err)
	}
	return nil
}

// updateSession changes one column set of a row; assignments are fixed text of ours.
func updateSession(ctx context.Context, tx database.Tx, id, assignments string, args ...any) error {
	_, err := tx.ExecContext(ctx, `update sessions set `+assignments+` where id = $1`,
		append([]any{database.EncodeText(id)}, args...)...)
	if err != nil {
		return fmt.Errorf("update session %s: %w", id, err)
	}
	return nil
}

// touch moves a session to the top of the list.
func touch(ctx context.Context, tx database.Tx, id string, at int64) error {
	return updateSession(ctx, tx, id, `updated_at = case when updated_at < $2 then $2 else updated_at end`, at)
}

// describe writes what the runtime says about its conversation into a row (insert or refresh); changed rows only.
func describe(ctx context.Context, tx database.Tx, runtimeName, nodeID string, t runtime.Thread, at int64) error {
	stored, err := readConversation(ctx, tx, runtimeName, t)
	var gone *session.DeletedError
	switch {
	case errors.As(err, &gone), errors.Is(err, session.ErrForeignConversation):
		return nil
	case errors.Is(err, session.ErrNotFound):
		return insertSession(ctx, tx, fromThread(runtimeName, nodeID, t, at), nil)
	case err != nil:
		return err
	case stored.NodeID != nodeID:
		return nil // another node's, whose runtime shares our runtime's files
	}
	next := fromThread(stored.Runtime, stored.NodeID, t, at)
	next.ID = stored.ID
	if stored.Title != "" {
		next.Title = stored.Title
	}
	if next.Cwd == "" {
		next.Cwd = stored.Cwd
	}
	next.HistoryAt = stored.HistoryAt
	if t.UpdatedAt > stored.UpdatedAt {
		next.HistoryAt = 0 // something was done in it that nobody here saw
	}
	next.UpdatedAt = max(next.UpdatedAt, stored.UpdatedAt)
	// A title makes nothing a worker's session that was known as a chat before.
	next.SystemOwned = stored.SystemOwned || next.SystemOwned && string(stored.Thread) == placeholderThread
	if string(stored.Thread) == threadText(t.Raw) && stored.Title == next.Title && stored.Archived == next.Archived &&
		stored.UpdatedAt == next.UpdatedAt && stored.SystemOwned == next.SystemOwned &&
		stored.RuntimeSessionID == next.RuntimeSessionID {
		return nil
	}
	return updateSession(ctx, tx, next.ID,
		`title = $2, cwd = $3, source = $4, model_provider = $5, thread = $6, archived = $7,
		created_at = $8, updated_at = $9, system_owned = $10, history_at = $11, runtime_session_id = $12`,
		database.EncodeText(next.Title), database.EncodeText(next.Cwd),
		database.EncodeText(next.Source), database.EncodeText(next.ModelProvider), threadText(t.Raw), flag(next.Archived),
		next.CreatedAt, next.UpdatedAt, flag(next.SystemOwned), next.HistoryAt, database.EncodeText(next.RuntimeSessionID))
}

// fromThread is the row of a conversation nobody here gave a title: its name, else its preview, else none.
func fromThread(runtimeName, nodeID string, t runtime.Thread, at int64) session.Session {
	title := t.Name
	if title == "" {
		title = t.Preview
	}
	created, updated := t.CreatedAt, t.UpdatedAt
	if created == 0 {
		created = at
	}
	if updated == 0 {
		updated = created
	}
	id := t.ID
	if id == "" {
		id = session.NewID()
	}
	return session.Session{ID: id, Runtime: runtimeName, RuntimeSessionID: t.Native(), RunsModel: t.Model,
		NodeID: nodeID, Title: title, Cwd: t.Cwd,
		Source: t.Source, ModelProvider: t.ModelProvider, SystemOwned: t.Name == session.DraftTitle && t.Preview == "",
		Archived: t.Archived, CreatedAt: created, UpdatedAt: updated, Thread: t.Raw}
}

func threadText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return placeholderThread
	}
	return string(raw)
}

func nullText(text *string) sql.NullString {
	if text == nil {
		return sql.NullString{}
	}
	return sql.NullString{String: database.EncodeText(*text), Valid: true}
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
