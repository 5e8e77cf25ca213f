// Package store reads and writes the rows of sessions, their turns, requests, messages and snapshots.
//
// Its functions run in the caller's transaction or on the caller's reader. It must never know a running runtime, the
// live index, or who subscribes to events.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// SessionColumns are the columns that ScanSession reads, in its order.
const SessionColumns = `id, runtime, runtime_session_id, node_id, project_id, title, cwd, source, model_provider, thread, controls,
	system_owned, archived, created_at, updated_at, history_at, capabilities, epoch, name, title_source, archived_at, archived_by, model`

// Session is a row: a Session whose controls may be unset and whose title may be "".
type Session struct {
	session.Session
	controls sql.NullString
}

// ScanSession reads one row of SessionColumns.
func ScanSession(row database.Row) (Session, error) {
	var (
		stored  Session
		project sql.NullString
		thread  string
		owned   int64
		archive int64
		can     string
	)
	s := &stored.Session
	if err := row.Scan(&s.ID, &s.Runtime, &s.RuntimeSessionID, &s.NodeID, &project, &s.Title, &s.Cwd, &s.Source,
		&s.ModelProvider,
		&thread, &stored.controls, &owned, &archive, &s.CreatedAt, &s.UpdatedAt, &s.HistoryAt, &can, &s.Epoch,
		&s.Name, &s.TitleSource, &s.ArchivedBy.At, &s.ArchivedBy.Actor, &s.RunsModel); err != nil {
		return Session{}, err
	}
	for _, text := range []*string{&s.ID, &s.RuntimeSessionID, &s.Title, &s.Name, &s.Cwd, &s.Source, &s.ModelProvider, &s.ArchivedBy.Actor,
		&s.RunsModel} {
		*text = database.DecodeText(*text)
	}
	if project.Valid {
		s.ProjectID = &project.String
	}
	if can != "" {
		s.Capabilities = json.RawMessage(can)
	}
	if archive == 0 {
		s.ArchivedBy = session.Author{}
	}
	s.Thread, s.SystemOwned, s.Archived, s.Materialized = json.RawMessage(thread), owned != 0, archive != 0, true
	return stored, nil
}

// ReadSession reads a session's row. It returns *DeletedError for a deleted session and ErrNotFound if there is no
// row.
func ReadSession(ctx context.Context, q database.Querier, id string) (Session, error) {
	key := database.EncodeText(id)
	stored, err := ScanSession(q.QueryRowContext(ctx, `select `+SessionColumns+` from sessions where id = $1`, key))
	if err == nil {
		return stored, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if err := CheckTombstone(ctx, q, id); err != nil {
		return Session{}, err
	}
	return Session{}, session.ErrNotFound
}

// CheckTombstone returns *DeletedError if the session was deleted, nil otherwise.
func CheckTombstone(ctx context.Context, q database.Querier, id string) error {
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

// IsSystemOwned reports whether a session has a row, and whether it is system-owned. It returns *DeletedError and
// ErrNotFound like ReadSession.
func IsSystemOwned(ctx context.Context, q database.Querier, id string) (systemOwned bool, err error) {
	var owned int64
	err = q.QueryRowContext(ctx, `select system_owned from sessions where id = $1`, database.EncodeText(id)).Scan(&owned)
	if errors.Is(err, sql.ErrNoRows) {
		if err := CheckTombstone(ctx, q, id); err != nil {
			return false, err
		}
		return false, session.ErrNotFound
	}
	if err != nil {
		return false, fmt.Errorf("read session %s: %w", id, err)
	}
	return owned != 0, nil
}

// InsertSession writes a row, replacing a placeholder if a signal created one.
func InsertSession(ctx context.Context, tx database.Tx, s session.Session, controls *session.Controls) error {
	encoded, err := EncodeControls(controls)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, `insert into sessions (`+SessionColumns+`)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 0, '', $21)
		on conflict (id) do update set runtime_session_id = excluded.runtime_session_id, node_id = excluded.node_id,
			title = excluded.title, cwd = excluded.cwd, source = excluded.source,
			model_provider = excluded.model_provider, thread = excluded.thread, controls = excluded.controls,
			system_owned = excluded.system_owned, created_at = excluded.created_at, updated_at = excluded.updated_at,
			history_at = excluded.history_at, capabilities = excluded.capabilities, name = excluded.name,
			title_source = excluded.title_source, model = excluded.model
		where sessions.runtime = excluded.runtime`,
		database.EncodeText(s.ID), s.Runtime, database.EncodeText(s.RuntimeSessionID), s.NodeID, NullText(s.ProjectID),
		database.EncodeText(s.Title), database.EncodeText(s.Cwd), database.EncodeText(s.Source),
		database.EncodeText(s.ModelProvider), threadText(s.Thread), encoded, Flag(s.SystemOwned), Flag(s.Archived),
		s.CreatedAt, s.UpdatedAt, s.HistoryAt, string(s.Capabilities), s.Epoch, database.EncodeText(s.Name), string(s.TitleSource),
		database.EncodeText(s.RunsModel))
	if err != nil {
		return fmt.Errorf("store session %s: %w", s.ID, err)
	}
	if stored, err := result.RowsAffected(); err != nil || stored == 0 {
		return errors.Join(err,
			journal.Refuse(fmt.Errorf("store session %s of %s: %w", s.ID, s.Runtime, session.ErrForeignConversation)))
	}
	return nil
}

// PlaceholderThread is stored until the runtime describes the conversation.
const PlaceholderThread = "null"

// Placeholder is a conversation known only by its id; it may be a worker's.
type Placeholder struct {
	ID, Runtime, Node string
	SystemOwned       bool
	At                int64 // ms
}

// InsertPlaceholder creates a row for a conversation that a signal named, or for a future worker.
func InsertPlaceholder(ctx context.Context, tx database.Tx, p Placeholder) error {
	id := p.ID
	_, err := tx.ExecContext(ctx, `insert into sessions (`+SessionColumns+`)
		values ($1, $2, $1, $3, null, '', '', '', '', $4, null, $6, 0, $5, $5, 0, '', 0, '', '', 0, '', '') on conflict do nothing`,
		database.EncodeText(id), p.Runtime, p.Node, PlaceholderThread, p.At, Flag(p.SystemOwned))
	if err != nil {
		return fmt.Errorf("adopt session %s: %w", id, err)
	}
	return nil
}

// UpdateSession sets columns of a row; assignments must be constant SQL text.
func UpdateSession(ctx context.Context, tx database.Tx, id, assignments string, args ...any) error {
	_, err := tx.ExecContext(ctx, `update sessions set `+assignments+` where id = $1`,
		append([]any{database.EncodeText(id)}, args...)...)
	if err != nil {
		return fmt.Errorf("update session %s: %w", id, err)
	}
	return nil
}

// TouchSession moves a session to the top of the list.
func TouchSession(ctx context.Context, tx database.Tx, id string, at int64) error {
	return UpdateSession(ctx, tx, id, `updated_at = case when updated_at < $2 then $2 else updated_at end`, at)
}

// StoreThread writes the runtime's description of a conversation into a row (insert or refresh). It writes only
// changed rows.
func StoreThread(ctx context.Context, tx database.Tx, runtimeName, nodeID string, t runtime.Thread, at int64) error {
	stored, err := ReadConversation(ctx, tx, runtimeName, t)
	var gone *session.DeletedError
	switch {
	case errors.As(err, &gone), errors.Is(err, session.ErrForeignConversation):
		return nil
	case errors.Is(err, session.ErrNotFound):
		return InsertSession(ctx, tx, SessionOfThread(runtimeName, nodeID, t, at), nil)
	case err != nil:
		return err
	case stored.NodeID != nodeID:
		return nil // another node owns it, and its runtime shares files with ours
	}
	next := SessionOfThread(stored.Runtime, stored.NodeID, t, at)
	next.ID = stored.ID
	if stored.Title != "" {
		next.Title, next.Name, next.TitleSource = stored.Title, stored.Name, stored.TitleSource
	}
	if next.Cwd == "" {
		next.Cwd = stored.Cwd
	}
	if next.RunsModel == "" {
		next.RunsModel = stored.RunsModel
	}
	next.HistoryAt = stored.HistoryAt
	if t.UpdatedAt > stored.UpdatedAt {
		next.HistoryAt = 0 // it changed without this server
	}
	next.UpdatedAt = max(next.UpdatedAt, stored.UpdatedAt)
	// A title does not turn a known chat into a worker's session.
	next.SystemOwned = stored.SystemOwned || next.SystemOwned && string(stored.Thread) == PlaceholderThread
	if string(stored.Thread) == threadText(t.Raw) && stored.Title == next.Title && stored.Archived == next.Archived &&
		stored.UpdatedAt == next.UpdatedAt && stored.SystemOwned == next.SystemOwned &&
		stored.RuntimeSessionID == next.RuntimeSessionID && stored.RunsModel == next.RunsModel {
		return nil
	}
	return UpdateSession(ctx, tx, next.ID,
		`title = $2, cwd = $3, source = $4, model_provider = $5, thread = $6, archived = $7,
		created_at = $8, updated_at = $9, system_owned = $10, history_at = $11, runtime_session_id = $12,
		name = $13, title_source = $14, model = $15`,
		database.EncodeText(next.Title), database.EncodeText(next.Cwd),
		database.EncodeText(next.Source), database.EncodeText(next.ModelProvider), threadText(t.Raw), Flag(next.Archived),
		next.CreatedAt, next.UpdatedAt, Flag(next.SystemOwned), next.HistoryAt, database.EncodeText(next.RuntimeSessionID),
		database.EncodeText(next.Name), string(next.TitleSource), database.EncodeText(next.RunsModel))
}

// SessionOfThread returns the row for a conversation that has no title from this server. The row's title is the
// conversation's name, else its preview, else none.
func SessionOfThread(runtimeName, nodeID string, t runtime.Thread, at int64) session.Session {
	title, name, source := t.Name, t.Name, session.TitleAgent
	if title == "" {
		title, name, source = t.Preview, session.TitleOf(t.Preview), session.TitleAuto
	}
	if !session.Names(title) {
		name, source = "", ""
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
		id = ids.New()
	}
	return session.Session{ID: id, Runtime: runtimeName, RuntimeSessionID: t.Native(), RunsModel: t.Model,
		NodeID: nodeID, Title: title, Name: name, TitleSource: source, Cwd: t.Cwd,
		Source: t.Source, ModelProvider: t.ModelProvider, SystemOwned: t.Name == session.DraftTitle && t.Preview == "",
		Archived: t.Archived, CreatedAt: created, UpdatedAt: updated, Thread: t.Raw}
}

func threadText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return PlaceholderThread
	}
	return string(raw)
}

// NullText converts a text for a nullable column.
func NullText(text *string) sql.NullString {
	if text == nil {
		return sql.NullString{}
	}
	return sql.NullString{String: database.EncodeText(*text), Valid: true}
}

// Flag encodes a boolean in the form that both engines store.
func Flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// SessionOfNative returns the session, stored or deleted, with a runtime's conversation id, "" for none.
func SessionOfNative(ctx context.Context, q database.Querier, runtimeName, nativeID string) (id string, err error) {
	err = q.QueryRowContext(ctx, `select id from sessions where runtime = $1 and runtime_session_id = $2
		union all select session_id from deleted_sessions where runtime = $1 and runtime_session_id = $2 limit 1`,
		runtimeName, database.EncodeText(nativeID)).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for the session of the %s conversation %s: %w", runtimeName, nativeID, err)
	}
	return database.DecodeText(id), nil
}

// ReadConversation reads the session that belongs to a runtime's description of a conversation. Errors are those of
// ReadSession, and ErrForeignConversation.
func ReadConversation(ctx context.Context, q database.Querier, runtimeName string, t runtime.Thread) (
	Session, error) {
	id, err := SessionOfNative(ctx, q, runtimeName, t.Native())
	if err != nil {
		return Session{}, err
	}
	if id == "" && t.ID == "" {
		return Session{}, session.ErrNotFound
	}
	if id == "" {
		id = t.ID
	}
	stored, err := ReadSession(ctx, q, id)
	if err == nil && stored.Runtime != runtimeName {
		return Session{}, fmt.Errorf("%w: %s says %s, which is a session of %s", session.ErrForeignConversation, runtimeName,
			id, stored.Runtime)
	}
	return stored, err
}

// IsBusy reports whether a session has open work that only its node can end.
func IsBusy(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	var busy int64
	err := q.QueryRowContext(ctx, `select (select count(*) from turns where session_id = $1 and status = 'inProgress') +
		(select count(*) from open_rollbacks where session_id = $1)`, database.EncodeText(sessionID)).Scan(&busy)
	if err != nil {
		return false, fmt.Errorf("read what is under way in session %s: %w", sessionID, err)
	}
	return busy > 0, nil
}

// ArchivedIn reports within a unit whether a session is archived; false if it is not stored.
func ArchivedIn(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	found, err := ReadSession(ctx, q, sessionID)
	if session.Absent(err) {
		return false, nil
	}
	return found.Archived, err
}

// MoveToProject moves a session to the end of a project, or out of its project (nil).
func MoveToProject(ctx context.Context, tx database.Tx, sessionID string, projectID *string) error {
	var rank int64
	if projectID != nil {
		err := tx.QueryRowContext(ctx, `select coalesce(max(project_rank), 0) + 1 from sessions where project_id = $1`,
			database.EncodeText(*projectID)).Scan(&rank)
		if err != nil {
			return fmt.Errorf("rank session %s in project %s: %w", sessionID, *projectID, err)
		}
	}
	return UpdateSession(ctx, tx, sessionID, `project_id = $2, project_rank = $3`, NullText(projectID), rank)
}
