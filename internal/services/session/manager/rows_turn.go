package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// turnRow is one stored turn. Times are in ms, 0 when unknown.
type turnRow struct {
	sessionID, turnID string
	status            runtime.TurnStatus
	failure           string
	native            json.RawMessage // the runtime's description of it
	// input is what it is asked (Message.kept), to be stored with its start; cutOff keeps that beyond its end.
	input  string
	cutOff bool
	// trace is as trace.stored, stored with its start.
	trace                  string
	generation, nodeID     string
	startedAt, completedAt int64
}

// openTurn notes that a turn runs. A turn that is stored already keeps its state: its end may have overtaken the news
// of its start.
func openTurn(ctx context.Context, tx database.Tx, turn turnRow) error {
	_, err := tx.ExecContext(ctx, `insert into turns
		(session_id, turn_id, status, error, generation, node_id, started_at, completed_at, native, input, trace)
		values ($1, $2, 'inProgress', '', $3, $4, $5, 0, $6, $7, $8)
		on conflict (session_id, turn_id) do update set
			input = case when turns.status = 'inProgress' then turns.input || excluded.input else turns.input end,
			started_at = case when turns.started_at = 0 then excluded.started_at else turns.started_at end,
			native = case when turns.native = '' then excluded.native else turns.native end,
			trace = case when turns.trace = '' then excluded.trace else turns.trace end`,
		database.EncodeText(turn.sessionID), database.EncodeText(turn.turnID), turn.generation, turn.nodeID, turn.startedAt,
		string(turn.native), database.EncodeText(turn.input),
		turn.trace)
	if err != nil {
		return fmt.Errorf("store turn %s: %w", turn.turnID, err)
	}
	return nil
}

// addInput notes one more message that a running turn was told.
func addInput(ctx context.Context, tx database.Tx, sessionID, turnID string, message session.Message) error {
	if _, err := tx.ExecContext(ctx, `update turns set input = input || $3
		where session_id = $1 and turn_id = $2 and status = 'inProgress'`, database.EncodeText(sessionID),
		database.EncodeText(turnID), database.EncodeText(message.StoredInput())); err != nil {
		return fmt.Errorf("store what turn %s was told: %w", turnID, err)
	}
	return nil
}

// closeTurn stores a turn's end, whether or not its start was stored. A start time that is stored to the millisecond
// stays when the runtime tells only the second.
func closeTurn(ctx context.Context, tx database.Tx, turn turnRow) error {
	_, err := tx.ExecContext(ctx, `insert into turns
		(session_id, turn_id, status, error, generation, node_id, started_at, completed_at, native)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		on conflict (session_id, turn_id) do update set status = excluded.status, error = excluded.error,
			completed_at = excluded.completed_at, input = case when $10 = 1 then turns.input else ''
			end, native = case when excluded.native = '' then turns.native else excluded.native end,
			started_at = case when excluded.started_at = 0 or turns.started_at - excluded.started_at between 0 and 999 then turns.started_at
				else excluded.started_at end`,
		database.EncodeText(turn.sessionID), database.EncodeText(turn.turnID), string(turn.status),
		database.EncodeText(turn.failure), turn.generation, turn.nodeID, turn.startedAt, turn.completedAt,
		string(turn.native), flag(turn.cutOff))
	if err != nil {
		return fmt.Errorf("store the end of turn %s: %w", turn.turnID, err)
	}
	return nil
}

const turnColumns = `session_id, turn_id, status, error, generation, node_id, started_at, completed_at, native,
	trace`

// openTurns lists the turns of a node that run, oldest first.
func openTurns(ctx context.Context, q database.Querier, nodeID string) ([]turnRow, error) {
	return queryTurns(ctx, q, `node_id = $1 and status = 'inProgress' order by started_at, session_id, turn_id`, nodeID)
}

// readTurns lists a session's turns.
func readTurns(ctx context.Context, q database.Querier, sessionID string) ([]turnRow, error) {
	return queryTurns(ctx, q, `session_id = $1`, database.EncodeText(sessionID))
}

// readTurn reads one turn; false when it is not stored.
func readTurn(ctx context.Context, q database.Querier, sessionID, turnID string) (turn turnRow, known bool, err error) {
	found, err := queryTurns(ctx, q, `session_id = $1 and turn_id = $2`, database.EncodeText(sessionID),
		database.EncodeText(turnID))
	if err != nil || len(found) == 0 {
		return turnRow{}, false, err
	}
	return found[0], true, nil
}

// readTurnsOf lists the turns some entries belong to.
func readTurnsOf(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry) (
	[]turnRow, error) {
	const most = 200
	var ids []string
	seen := map[string]bool{}
	for _, entry := range entries {
		if !seen[entry.TurnID] {
			seen[entry.TurnID] = true
			ids = append(ids, entry.TurnID)
		}
	}
	var turns []turnRow
	for chunk := range slices.Chunk(ids, most) {
		args, marks := []any{database.EncodeText(sessionID)}, make([]string, len(chunk))
		for i, id := range chunk {
			args, marks[i] = append(args, database.EncodeText(id)), "$"+strconv.Itoa(i+2)
		}
		found, err := queryTurns(ctx, q, `session_id = $1 and turn_id in (`+strings.Join(marks, ", ")+`)`, args...)
		if err != nil {
			return nil, err
		}
		turns = append(turns, found...)
	}
	return turns, nil
}

// runningTurn is the turn a session is in, "" for none: the newest if several are stored as running; and its trace.
func runningTurn(ctx context.Context, q database.Querier, sessionID string) (string, session.Trace, error) {
	var turnID, traced string
	err := q.QueryRowContext(ctx, `select turn_id, trace from turns where session_id = $1 and status = 'inProgress'
		order by started_at desc, turn_id desc limit 1`, database.EncodeText(sessionID)).Scan(&turnID, &traced)
	if errors.Is(err, sql.ErrNoRows) {
		return "", session.Trace{}, nil
	}
	turnID = database.DecodeText(turnID)
	return turnID, session.ParseTrace(turnID, traced), err
}

func queryTurns(ctx context.Context, q database.Querier, where string, args ...any) ([]turnRow, error) {
	return database.ReadAll(ctx, q, "read turns", scanTurn, `select `+turnColumns+` from turns where `+where, args...)
}

func scanTurn(row database.Row) (turn turnRow, err error) {
	var native string
	err = row.Scan(&turn.sessionID, &turn.turnID, &turn.status, &turn.failure, &turn.generation, &turn.nodeID,
		&turn.startedAt, &turn.completedAt, &native, &turn.trace)
	turn.native = json.RawMessage(native)
	for _, text := range []*string{&turn.sessionID, &turn.turnID, &turn.failure} {
		*text = database.DecodeText(*text)
	}
	return turn, err
}

// times are the turns' times as package transcript wants them: a completion only for turns that are over.
func times(turns []turnRow) map[string]transcript.TurnTimes {
	out := make(map[string]transcript.TurnTimes, len(turns))
	for _, turn := range turns {
		t := transcript.TurnTimes{StartedAt: turn.startedAt}
		if turn.status != runtime.TurnInProgress {
			t.CompletedAt = turn.completedAt
			t.Canceled = turn.status != runtime.TurnDone
		}
		out[turn.turnID] = t
	}
	return out
}
