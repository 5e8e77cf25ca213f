package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Workspace is the stored copy of a folder outside its node, with one of its sessions.
type Workspace struct {
	Name, Snapshot string
	TurnID         string // the turn of that session after which it was copied
	StoredAt       int64  // ms, the start of the copy
	Mark           string
	Refusal        string // why the last copy failed
}

// WriteWorkspace records the stored copy of a session's folder, or why there is none.
func WriteWorkspace(ctx context.Context, tx database.Tx, sessionID string, row Workspace) error {
	if row.Refusal != "" { // keep the stored copy
		_, err := tx.ExecContext(ctx, `insert into session_custody (session_id, turn_id, workspace, stored_at, folder_refusal)
			values ($1, '', $2, $3, $4) on conflict (session_id) do update set folder_refusal = excluded.folder_refusal`,
			database.EncodeText(sessionID), row.Mark, row.StoredAt, database.EncodeText(row.Refusal))
		if err != nil {
			return fmt.Errorf("note why the folder of session %s is not stored: %w", sessionID, err)
		}
		return nil
	}
	_, err := tx.ExecContext(ctx, `insert into session_custody (session_id, turn_id, workspace, stored_at, folder_name,
			folder_snapshot, folder_turn, folder_stored_at) values ($1, '', $2, $3, $4, $5, $6, $3)
		on conflict (session_id) do update set workspace = excluded.workspace, folder_name = excluded.folder_name,
			folder_snapshot = excluded.folder_snapshot, folder_turn = excluded.folder_turn,
			folder_stored_at = excluded.folder_stored_at, folder_refusal = ''`,
		database.EncodeText(sessionID), row.Mark, row.StoredAt, database.EncodeText(row.Name), row.Snapshot,
		database.EncodeText(row.TurnID))
	if err != nil {
		return fmt.Errorf("note what is stored of the folder of session %s: %w", sessionID, err)
	}
	return nil
}

// EachWorkspace visits the stored copies of sessions' folders. Each comes with the last turn whose end its runtime
// reported, "" for none. where may refer to sessions as s.
func EachWorkspace(ctx context.Context, q database.Querier, take func(sessionID, after string, row Workspace), where string,
	args ...any) error {
	return database.ReadEach(ctx, q, "read what is stored of folders", func(row database.Row) error {
		var id, after string
		var stored Workspace
		err := row.Scan(&id, &after, &stored.Name, &stored.Snapshot, &stored.TurnID, &stored.StoredAt, &stored.Mark, &stored.Refusal)
		for _, text := range []*string{&id, &after, &stored.Name, &stored.TurnID, &stored.Refusal} {
			*text = database.DecodeText(*text)
		}
		take(id, after, stored)
		return err
	}, `select s.id, coalesce((`+lastEnded+`), ''), coalesce(c.folder_name, ''), coalesce(c.folder_snapshot, ''),
			coalesce(c.folder_turn, ''), coalesce(c.folder_stored_at, 0), coalesce(c.workspace, ''), coalesce(c.folder_refusal, '')
		from sessions s left join session_custody c on c.session_id = s.id where `+where, args...)
}

// LastWorkspace returns the last stored copy of a node's folder, from any of its sessions. missing is why it lacks the
// result of the last turns, "" if it is complete.
func LastWorkspace(ctx context.Context, q database.Querier, node, folder string) (last Workspace, missing string, err error) {
	err = EachWorkspace(ctx, q, func(_, after string, row Workspace) {
		if after != "" && after != row.TurnID {
			missing = cmp.Or(row.Refusal, "what the last turn in "+folder+" left there was not stored when node "+node+" died")
		}
		if row.Snapshot != "" && row.StoredAt >= last.StoredAt {
			last = row
		}
	}, `s.node_id = $1 and s.cwd = $2`, node, database.EncodeText(folder))
	if missing == "" && last.Snapshot == "" {
		missing = "nothing was stored of " + folder + " when node " + node + " died"
	}
	return last, missing, err
}

// WorkspaceMovedTo returns the node to which a folder of a lost node moved, by itself or with a parent; "" for none.
func WorkspaceMovedTo(ctx context.Context, q database.Querier, node, folder string) (to string, err error) {
	nearest := ""
	err = database.ReadEach(ctx, q, "read where the folders of node "+node+" went on", func(row database.Row) error {
		var moved, by string
		if err := row.Scan(&moved, &by); err != nil {
			return err
		}
		if moved = database.DecodeText(moved); isWithin(folder, moved) && len(moved) > len(nearest) {
			nearest, to = moved, by
		}
		return nil
	}, `select folder, to_node from moved_folders where node_id = $1`, node)
	return to, err
}

// isWithin reports whether a folder equals another folder or is below it.
func isWithin(folder, other string) bool {
	return folder == other || strings.HasPrefix(folder, strings.TrimSuffix(other, "/")+"/")
}

// MoveWorkspace records that a folder of a lost node moved to another node, which owns it from now on.
func MoveWorkspace(ctx context.Context, tx database.Tx, from, folder, to string, at int64) error {
	if err := KeepWorkspace(ctx, tx, to, folder); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `insert into moved_folders (node_id, folder, to_node, moved_at) values ($1, $2, $3, $4)
		on conflict (node_id, folder) do update set to_node = excluded.to_node, moved_at = excluded.moved_at`,
		from, database.EncodeText(folder), to, at)
	if err != nil {
		return fmt.Errorf("note where %s goes on: %w", folder, err)
	}
	return nil
}

// KeepWorkspace records that a node works in a folder, regardless of earlier moves.
func KeepWorkspace(ctx context.Context, tx database.Tx, node, folder string) error {
	_, err := tx.ExecContext(ctx, `delete from moved_folders where node_id = $1 and folder = $2`, node, database.EncodeText(folder))
	if err != nil {
		return fmt.Errorf("note where %s is: %w", folder, err)
	}
	return nil
}

// SessionsIn lists the node's other sessions that work in a folder, below it or above it.
func SessionsIn(ctx context.Context, q database.Querier, node, folder, but string) (ids []string, err error) {
	err = database.ReadEach(ctx, q, "look who works in "+folder, func(row database.Row) error {
		var id, cwd string
		if err := row.Scan(&id, &cwd); err != nil {
			return err
		}
		id, cwd = database.DecodeText(id), database.DecodeText(cwd)
		if id != but && (isWithin(cwd, folder) || isWithin(folder, cwd)) {
			ids = append(ids, id)
		}
		return nil
	}, `select id, cwd from sessions where node_id = $1 and cwd <> ''`, node)
	return ids, err
}

// UnstoredWorkspaces visits the sessions of a node whose folders lack a copy of their last turns, with those turns. It
// visits only turns that ended after a time (ms).
func UnstoredWorkspaces(ctx context.Context, q database.Querier, node string, after int64, take func(sessionID, turnID string)) error {
	return EachWorkspace(ctx, q, func(id, after string, row Workspace) {
		if after != "" && after != row.TurnID {
			take(id, after)
		}
	}, `s.node_id = $1 and exists (select 1 from turns t where t.session_id = s.id and t.completed_at > $2)`, node, after)
}

// MarkWorkspaceUnneeded schedules the deletion of the stored folder of a deleted session.
func MarkWorkspaceUnneeded(ctx context.Context, tx database.Tx, sessionID string) error {
	_, err := tx.ExecContext(ctx, `insert into unneeded_folders (session_id)
		select session_id from session_custody where session_id = $1 and folder_snapshot <> ''
		on conflict (session_id) do nothing`, database.EncodeText(sessionID))
	if err != nil {
		return fmt.Errorf("forget the folder of session %s: %w", sessionID, err)
	}
	return nil
}

// WorkspaceDeleted records that a session's folder no longer has a stored copy.
func WorkspaceDeleted(sessionID string) journal.Unit {
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `delete from unneeded_folders where session_id = $1`, database.EncodeText(sessionID))
		return nil, err
	}
}
