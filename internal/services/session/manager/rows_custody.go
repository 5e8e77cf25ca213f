package manager

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
)

// custodyRow is what is stored for a session to go on elsewhere: with which turn, and the mark of its folder.
type custodyRow struct {
	turnID, workspace string
	storedAt          int64
}

// memoryPart is a piece of a file in which a runtime remembers a session.
type memoryPart struct {
	name         string
	starts, ends int64
	content      []byte
}

// readCustody returns false when nothing is stored.
func readCustody(ctx context.Context, q database.Querier, sessionID string) (row custodyRow, known bool, err error) {
	err = q.QueryRowContext(ctx, `select turn_id, workspace, stored_at from session_custody where session_id = $1`,
		database.EncodeText(sessionID)).Scan(&row.turnID, &row.workspace, &row.storedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return custodyRow{}, false, nil
	}
	if err != nil {
		return custodyRow{}, false, fmt.Errorf("read what is stored of the memory of session %s: %w", sessionID, err)
	}
	row.turnID = database.DecodeText(row.turnID)
	return row, true, nil
}

// storeCustody notes how far the memory of a session is stored; a turn "" leaves it at the one before.
func storeCustody(ctx context.Context, tx database.Tx, sessionID string, row custodyRow) error {
	_, err := tx.ExecContext(ctx, `insert into session_custody (session_id, turn_id, workspace, stored_at)
		values ($1, $2, $3, $4) on conflict (session_id) do update set workspace = excluded.workspace,
			stored_at = excluded.stored_at,
			turn_id = case when excluded.turn_id = '' then session_custody.turn_id else excluded.turn_id end`,
		database.EncodeText(sessionID), database.EncodeText(row.turnID), row.workspace, row.storedAt)
	if err != nil {
		return fmt.Errorf("store how far the memory of session %s is stored: %w", sessionID, err)
	}
	return nil
}

// storeTellAgain notes whether the runtime of a session is told the conversation again with the next message.
func storeTellAgain(ctx context.Context, tx database.Tx, sessionID string, again bool) error {
	_, err := tx.ExecContext(ctx, `update session_custody set tell_again = $2 where session_id = $1`,
		database.EncodeText(sessionID), flag(again))
	if err != nil {
		return fmt.Errorf("store whether the runtime of session %s is told it again: %w", sessionID, err)
	}
	return nil
}

// tellsAgain tells whether it is.
func tellsAgain(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	found, err := database.ReadTexts(ctx, q, "read whether the runtime of session "+sessionID+" is told it again",
		`select session_id from session_custody where session_id = $1 and tell_again = 1`, database.EncodeText(sessionID))
	return len(found) > 0, err
}

func storeMemory(ctx context.Context, tx database.Tx, sessionID string, part memoryPart) error {
	_, err := tx.ExecContext(ctx, `insert into session_memory (session_id, name, starts, ends, part)
		values ($1, $2, $3, $4, $5)`, database.EncodeText(sessionID), database.EncodeText(part.name), part.starts, part.ends,
		base64.StdEncoding.EncodeToString(part.content))
	if err != nil {
		return fmt.Errorf("store the memory of session %s: %w", sessionID, err)
	}
	return nil
}

// forgetMemory removes what is stored of a file, of all files when name is "".
func forgetMemory(ctx context.Context, tx database.Tx, sessionID, name string) error {
	_, err := tx.ExecContext(ctx, `delete from session_memory where session_id = $1 and (name = $2 or $2 = '')`,
		database.EncodeText(sessionID), database.EncodeText(name))
	if err != nil {
		return fmt.Errorf("forget the memory of session %s: %w", sessionID, err)
	}
	return nil
}

// forgetOtherMemory removes what is stored of all files but some.
func forgetOtherMemory(ctx context.Context, tx database.Tx, sessionID string, names []string) error {
	stored, err := database.ReadTexts(ctx, tx, "read which files the memory of session "+sessionID+" is in",
		`select distinct name from session_memory where session_id = $1`, database.EncodeText(sessionID))
	if err != nil {
		return err
	}
	for _, name := range stored {
		if slices.Contains(names, name) {
			continue
		}
		if err := forgetMemory(ctx, tx, sessionID, name); err != nil {
			return err
		}
	}
	return nil
}

// lastMemory is the last stored piece of a file, the zero one when there is none.
func lastMemory(ctx context.Context, q database.Querier, sessionID, name string) (part memoryPart, err error) {
	err = eachMemory(ctx, q, func(found memoryPart) error { part = found; return nil },
		`session_id = $1 and name = $2 order by starts desc limit 1`, database.EncodeText(sessionID), database.EncodeText(name))
	return part, err
}

// memoryOf hands over all that is stored, file by file, from the start of each.
func memoryOf(ctx context.Context, q database.Querier, sessionID string, take func(memoryPart) error) error {
	return eachMemory(ctx, q, take, `session_id = $1 order by name, starts`, database.EncodeText(sessionID))
}

func eachMemory(ctx context.Context, q database.Querier, take func(memoryPart) error, where string, args ...any) error {
	return database.ReadEach(ctx, q, "read the memory of a session", func(row database.Row) error {
		var part memoryPart
		var encoded string
		if err := row.Scan(&part.name, &part.starts, &part.ends, &encoded); err != nil {
			return err
		}
		part.name = database.DecodeText(part.name)
		var err error
		if part.content, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return err
		}
		return take(part)
	}, `select name, starts, ends, part from session_memory where `+where, args...)
}

// heardTurn is the last turn of a session that its runtime told the end of, "" when there is none.
func heardTurn(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	found, err := database.ReadTexts(ctx, q, "read the last turn of session "+sessionID,
		`select coalesce((`+lastHeard+`), '') from sessions s where s.id = $1`, database.EncodeText(sessionID))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// lastHeard selects the last turn of a session s that its runtime told the end of. One that was cut off left no more than its
// beginning in the runtime's memory.
const lastHeard = `select h.turn_id from turns h where h.session_id = s.id and h.status <> 'inProgress'
	and not (h.status = 'interrupted' and h.error <> '') order by h.started_at desc, h.turn_id desc limit 1`

// cutTurn is the last turn of a session if its runtime never told the end of it, else "".
func cutTurn(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	found, err := database.ReadTexts(ctx, q, "read how the last turn of session "+sessionID+" ended", `select t.turn_id from turns t
		join sessions s on s.id = t.session_id where s.id = $1 and t.turn_id = (select l.turn_id from turns l
			where l.session_id = s.id order by l.started_at desc, l.turn_id desc limit 1)
		and t.turn_id <> coalesce((`+lastHeard+`), '')`, database.EncodeText(sessionID))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}
