package extensions

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// readCursor returns the position up to which a node dispatched; known is false if it never did.
func readCursor(ctx context.Context, q database.Querier, nodeID string) (pos int64, known bool, err error) {
	err = q.QueryRowContext(ctx, `select pos from extension_cursors where node_id = $1`, nodeID).Scan(&pos)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the extensions' cursor: %w", err)
	}
	return pos, true, nil
}

func writeCursor(ctx context.Context, tx database.Tx, nodeID string, pos int64) error {
	_, err := tx.ExecContext(ctx, `insert into extension_cursors (node_id, pos) values ($1, $2)
		on conflict (node_id) do update set pos = excluded.pos where extension_cursors.pos < excluded.pos`, nodeID, pos)
	return err
}

// noteFileChange records that a turn asked to change a file. An anchor counts once, regardless of the number of
// requests.
func noteFileChange(ctx context.Context, tx database.Tx, d dispatch, anchorID string) error {
	_, err := tx.ExecContext(ctx,
		`insert into extension_file_changes (session_id, turn_id, anchor_id, request_id, created_at)
		values ($1, $2, $3, $4, $5) on conflict (session_id, turn_id, anchor_id) do nothing`,
		database.EncodeText(d.sessionID), database.EncodeText(d.turnID), database.EncodeText(anchorID), d.requestID, d.createdAt)
	return err
}

func countFileChanges(ctx context.Context, q database.Querier, sessionID, turnID string) (count int, err error) {
	err = q.QueryRowContext(ctx, `select count(*) from extension_file_changes where session_id = $1 and turn_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(turnID)).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count file changes of turn %s: %w", turnID, err)
	}
	return count, nil
}

// The states of a dispatch. All but pending are final.
const (
	dispatchPending   = "pending"
	dispatchDone      = "done"
	dispatchAbandoned = "abandoned" // no handler acted on it
)

// dispatch is a synthesised event that is retried until a handler acts on it.
type dispatch struct {
	key, kind, nodeID            string
	sessionID, turnID, requestID string
	state                        string
	attempts                     int
	createdAt                    int64
}

// openDispatch stores a dispatch unless it exists; then opened is false.
func openDispatch(ctx context.Context, tx database.Tx, d dispatch) (opened bool, err error) {
	result, err := tx.ExecContext(ctx,
		`insert into extension_dispatches (key, kind, node_id, session_id, turn_id, request_id, state, attempts,
		created_at, updated_at) values ($1, $2, $3, $4, $5, $6, 'pending', 0, $7, $7) on conflict (key) do nothing`,
		database.EncodeText(d.key), d.kind, d.nodeID, database.EncodeText(d.sessionID), database.EncodeText(d.turnID),
		d.requestID, d.createdAt)
	if err != nil {
		return false, fmt.Errorf("store dispatch %s: %w", d.key, err)
	}
	affected, err := result.RowsAffected()
	return affected == 1, err
}

func updateDispatch(ctx context.Context, tx database.Tx, d dispatch, at int64) error {
	_, err := tx.ExecContext(ctx,
		`update extension_dispatches set state = $2, attempts = $3, updated_at = $4 where key = $1 and node_id = $5`,
		database.EncodeText(d.key), d.state, d.attempts, at, d.nodeID)
	if err != nil {
		return fmt.Errorf("store dispatch %s: %w", d.key, err)
	}
	return nil
}

// pendingDispatches returns a node's dispatches without an action, oldest first.
func pendingDispatches(ctx context.Context, q database.Querier, nodeID string) ([]dispatch, error) {
	return queryDispatches(ctx, q, `node_id = $1`, nodeID)
}

// sessionDispatches returns a node's dispatches of one session without an action.
func sessionDispatches(ctx context.Context, q database.Querier, nodeID, sessionID string) ([]dispatch, error) {
	return queryDispatches(ctx, q, `node_id = $1 and session_id = $2`, nodeID, database.EncodeText(sessionID))
}

// moveDispatches moves the pending dispatches of a session to another node.
func moveDispatches(ctx context.Context, tx database.Tx, from, sessionID, to string) error {
	_, err := tx.ExecContext(ctx, `update extension_dispatches set node_id = $3 where node_id = $1 and session_id = $2 and
		state = 'pending'`, from, database.EncodeText(sessionID), to)
	if err != nil {
		return fmt.Errorf("take over the dispatches of session %s: %w", sessionID, err)
	}
	return nil
}

func queryDispatches(ctx context.Context, q database.Querier, where string, args ...any) ([]dispatch, error) {
	return database.ReadAll(ctx, q, "read pending dispatches", func(row database.Row) (d dispatch, err error) {
		err = row.Scan(&d.key, &d.kind, &d.nodeID, &d.sessionID, &d.turnID, &d.requestID, &d.state, &d.attempts, &d.createdAt)
		d.key, d.sessionID, d.turnID = database.DecodeText(d.key), database.DecodeText(d.sessionID), database.DecodeText(
			d.turnID)
		return d, err
	}, `select key, kind, node_id, session_id, turn_id, request_id, state, attempts, created_at
		from extension_dispatches where `+where+` and state = 'pending' order by created_at, key`, args...)
}
