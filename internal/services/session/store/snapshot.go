package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
)

// Snapshot is a session's stored state for another node, with its last turn and the marker of its folder.
type Snapshot struct {
	TurnID, Workspace string
	StoredAt          int64
}

// SnapshotPart is a part of a file with a runtime's state of a session.
type SnapshotPart struct {
	Name         string
	Starts, Ends int64
	Content      []byte
}

// ReadSnapshot reads a session's snapshot; it returns false if none is stored.
func ReadSnapshot(ctx context.Context, q database.Querier, sessionID string) (row Snapshot, known bool, err error) {
	err = q.QueryRowContext(ctx, `select turn_id, workspace, stored_at from session_custody where session_id = $1`,
		database.EncodeText(sessionID)).Scan(&row.TurnID, &row.Workspace, &row.StoredAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Snapshot{}, false, nil
	}
	if err != nil {
		return Snapshot{}, false, fmt.Errorf("read what is stored of the memory of session %s: %w", sessionID, err)
	}
	row.TurnID = database.DecodeText(row.TurnID)
	return row, true, nil
}

// WriteSnapshot stores the progress of a session's snapshot; turn "" keeps the previous turn.
func WriteSnapshot(ctx context.Context, tx database.Tx, sessionID string, row Snapshot) error {
	_, err := tx.ExecContext(ctx, `insert into session_custody (session_id, turn_id, workspace, stored_at)
		values ($1, $2, $3, $4) on conflict (session_id) do update set workspace = excluded.workspace,
			stored_at = excluded.stored_at,
			turn_id = case when excluded.turn_id = '' then session_custody.turn_id else excluded.turn_id end`,
		database.EncodeText(sessionID), database.EncodeText(row.TurnID), row.Workspace, row.StoredAt)
	if err != nil {
		return fmt.Errorf("store how far the memory of session %s is stored: %w", sessionID, err)
	}
	return nil
}

// SetReplay sets whether the next message replays the conversation to the session's runtime.
func SetReplay(ctx context.Context, tx database.Tx, sessionID string, again bool) error {
	_, err := tx.ExecContext(ctx, `update session_custody set tell_again = $2 where session_id = $1`,
		database.EncodeText(sessionID), Flag(again))
	if err != nil {
		return fmt.Errorf("store whether the runtime of session %s gets it again: %w", sessionID, err)
	}
	return nil
}

// Replayed records that a runtime was sent the conversation of a session again.
func Replayed(ctx context.Context, tx database.Tx, sessionID string) error {
	_, err := tx.ExecContext(ctx, `update rewinds set replay = 0 where session_id = $1 and replay = 1`, database.EncodeText(sessionID))
	if err != nil {
		return fmt.Errorf("store that the runtime of session %s got it again: %w", sessionID, err)
	}
	return SetReplay(ctx, tx, sessionID, false)
}

// NeedsReplay reports whether the next message must replay the conversation: the session moved here, or was rewound.
func NeedsReplay(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	found, err := database.ReadTexts(ctx, q, "read whether the runtime of session "+sessionID+" gets it again",
		`select session_id from session_custody where session_id = $1 and tell_again = 1
		union all select session_id from rewinds where session_id = $1 and replay = 1`, database.EncodeText(sessionID))
	return len(found) > 0, err
}

// WriteSnapshotPart stores a part of an agent's state.
func WriteSnapshotPart(ctx context.Context, tx database.Tx, sessionID string, part SnapshotPart) error {
	_, err := tx.ExecContext(ctx, `insert into session_memory (session_id, name, starts, ends, part)
		values ($1, $2, $3, $4, $5)`, database.EncodeText(sessionID), database.EncodeText(part.Name), part.Starts, part.Ends,
		base64.StdEncoding.EncodeToString(part.Content))
	if err != nil {
		return fmt.Errorf("store the memory of session %s: %w", sessionID, err)
	}
	return nil
}

// DeleteSnapshotFile deletes a stored file; name "" deletes all files.
func DeleteSnapshotFile(ctx context.Context, tx database.Tx, sessionID, name string) error {
	_, err := tx.ExecContext(ctx, `delete from session_memory where session_id = $1 and (name = $2 or $2 = '')`,
		database.EncodeText(sessionID), database.EncodeText(name))
	if err != nil {
		return fmt.Errorf("forget the memory of session %s: %w", sessionID, err)
	}
	return nil
}

// DeleteOtherSnapshotFiles deletes all stored files except some.
func DeleteOtherSnapshotFiles(ctx context.Context, tx database.Tx, sessionID string, names []string) error {
	stored, err := database.ReadTexts(ctx, tx, "read which files the memory of session "+sessionID+" is in",
		`select distinct name from session_memory where session_id = $1`, database.EncodeText(sessionID))
	if err != nil {
		return err
	}
	for _, name := range stored {
		if slices.Contains(names, name) {
			continue
		}
		if err := DeleteSnapshotFile(ctx, tx, sessionID, name); err != nil {
			return err
		}
	}
	return nil
}

// LastSnapshotPart returns the last stored part of a file, the zero value if there is none.
func LastSnapshotPart(ctx context.Context, q database.Querier, sessionID, name string) (part SnapshotPart, err error) {
	err = eachSnapshotPart(ctx, q, func(found SnapshotPart) error { part = found; return nil },
		`session_id = $1 and name = $2 order by starts desc limit 1`, database.EncodeText(sessionID), database.EncodeText(name))
	return part, err
}

// EachSnapshotPart visits all stored parts, file by file, from the start of each.
func EachSnapshotPart(ctx context.Context, q database.Querier, sessionID string, take func(SnapshotPart) error) error {
	return eachSnapshotPart(ctx, q, take, `session_id = $1 order by name, starts`, database.EncodeText(sessionID))
}

func eachSnapshotPart(ctx context.Context, q database.Querier, take func(SnapshotPart) error, where string, args ...any) error {
	return database.ReadEach(ctx, q, "read the memory of a session", func(row database.Row) error {
		var part SnapshotPart
		var encoded string
		if err := row.Scan(&part.Name, &part.Starts, &part.Ends, &encoded); err != nil {
			return err
		}
		part.Name = database.DecodeText(part.Name)
		var err error
		if part.Content, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return err
		}
		return take(part)
	}, `select name, starts, ends, part from session_memory where `+where, args...)
}

// LastEndedTurn returns the last turn of a session whose end its runtime reported, "" for none.
func LastEndedTurn(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	found, err := database.ReadTexts(ctx, q, "read the last turn of session "+sessionID,
		`select coalesce((`+lastEnded+`), '') from sessions s where s.id = $1`, database.EncodeText(sessionID))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// lastEnded selects the last turn of a session s whose end its runtime reported. The runtime's state has only the
// beginning of a cut-off turn.
const lastEnded = `select h.turn_id from turns h where h.session_id = s.id and h.status <> 'inProgress'
	and not (h.status = 'interrupted' and h.error <> '') order by h.started_at desc, h.turn_id desc limit 1`

// LastCutTurn returns the last turn of a session if its runtime never reported its end, else "".
func LastCutTurn(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	found, err := database.ReadTexts(ctx, q, "read how the last turn of session "+sessionID+" ended", `select t.turn_id from turns t
		join sessions s on s.id = t.session_id where s.id = $1 and t.turn_id = (select l.turn_id from turns l
			where l.session_id = s.id order by l.started_at desc, l.turn_id desc limit 1)
		and t.turn_id <> coalesce((`+lastEnded+`), '')`, database.EncodeText(sessionID))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}
