package store

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

// Turn is one stored turn. Times are in ms, 0 if unknown.
type Turn struct {
	SessionID, TurnID string
	Status            runtime.TurnStatus
	Error             string
	Native            json.RawMessage // the runtime's description of the turn
	// Input is the stored input (Message.StoredInput), written when the turn starts. cutOff keeps it after the turn's
	// end.
	Input  string
	CutOff bool
	// Trace has the form of Trace.String; it is written when the turn starts.
	Trace                  string
	Generation, NodeID     string
	StartedAt, CompletedAt int64
}

// OpenTurn records that a turn runs. A stored turn keeps its state: its end may have arrived before its start.
func OpenTurn(ctx context.Context, tx database.Tx, turn Turn) error {
	_, err := tx.ExecContext(ctx, `insert into turns
		(session_id, turn_id, status, error, generation, node_id, started_at, completed_at, native, input, trace)
		values ($1, $2, 'inProgress', '', $3, $4, $5, 0, $6, $7, $8)
		on conflict (session_id, turn_id) do update set
			input = case when turns.status = 'inProgress' then turns.input || excluded.input else turns.input end,
			started_at = case when turns.started_at = 0 then excluded.started_at else turns.started_at end,
			native = case when turns.native = '' then excluded.native else turns.native end,
			trace = case when turns.trace = '' then excluded.trace else turns.trace end`,
		database.EncodeText(turn.SessionID), database.EncodeText(turn.TurnID), turn.Generation, turn.NodeID, turn.StartedAt,
		string(turn.Native), database.EncodeText(turn.Input),
		turn.Trace)
	if err != nil {
		return fmt.Errorf("store turn %s: %w", turn.TurnID, err)
	}
	return nil
}

// AddInput adds another input message to a running turn.
func AddInput(ctx context.Context, tx database.Tx, sessionID, turnID string, message session.Message) error {
	if _, err := tx.ExecContext(ctx, `update turns set input = input || $3
		where session_id = $1 and turn_id = $2 and status = 'inProgress'`, database.EncodeText(sessionID),
		database.EncodeText(turnID), database.EncodeText(message.StoredInput())); err != nil {
		return fmt.Errorf("store the input of turn %s: %w", turnID, err)
	}
	return nil
}

// CloseTurn stores a turn's end, even if its start was not stored. A start time stored in milliseconds stays if the
// runtime reports only the second.
func CloseTurn(ctx context.Context, tx database.Tx, turn Turn) error {
	_, err := tx.ExecContext(ctx, `insert into turns
		(session_id, turn_id, status, error, generation, node_id, started_at, completed_at, native)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		on conflict (session_id, turn_id) do update set status = excluded.status, error = excluded.error,
			completed_at = excluded.completed_at, input = case when $10 = 1 then turns.input else ''
			end, native = case when excluded.native = '' then turns.native else excluded.native end,
			started_at = case when excluded.started_at = 0 or turns.started_at - excluded.started_at between 0 and 999 then turns.started_at
				else excluded.started_at end`,
		database.EncodeText(turn.SessionID), database.EncodeText(turn.TurnID), string(turn.Status),
		database.EncodeText(turn.Error), turn.Generation, turn.NodeID, turn.StartedAt, turn.CompletedAt,
		string(turn.Native), Flag(turn.CutOff))
	if err != nil {
		return fmt.Errorf("store the end of turn %s: %w", turn.TurnID, err)
	}
	return nil
}

const turnColumns = `session_id, turn_id, status, error, generation, node_id, started_at, completed_at, native,
	trace`

// OpenTurns lists the running turns of a node, oldest first.
func OpenTurns(ctx context.Context, q database.Querier, nodeID string) ([]Turn, error) {
	return queryTurns(ctx, q, `node_id = $1 and status = 'inProgress' order by started_at, session_id, turn_id`, nodeID)
}

// ReadTurns lists a session's turns.
func ReadTurns(ctx context.Context, q database.Querier, sessionID string) ([]Turn, error) {
	return queryTurns(ctx, q, `session_id = $1`, database.EncodeText(sessionID))
}

// ReadTurn reads one turn; it returns false if the turn is not stored.
func ReadTurn(ctx context.Context, q database.Querier, sessionID, turnID string) (turn Turn, known bool, err error) {
	found, err := queryTurns(ctx, q, `session_id = $1 and turn_id = $2`, database.EncodeText(sessionID),
		database.EncodeText(turnID))
	if err != nil || len(found) == 0 {
		return Turn{}, false, err
	}
	return found[0], true, nil
}

// ReadTurnsOf lists the turns of the given entries.
func ReadTurnsOf(ctx context.Context, q database.Querier, sessionID string, entries []transcript.Entry) (
	[]Turn, error) {
	const most = 200
	var ids []string
	seen := map[string]bool{}
	for _, entry := range entries {
		if !seen[entry.TurnID] {
			seen[entry.TurnID] = true
			ids = append(ids, entry.TurnID)
		}
	}
	var turns []Turn
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

// RunningTurn returns the running turn of a session, "" for none, and its trace. If several run, it is the newest.
func RunningTurn(ctx context.Context, q database.Querier, sessionID string) (string, session.Trace, error) {
	var turnID, traced string
	err := q.QueryRowContext(ctx, `select turn_id, trace from turns where session_id = $1 and status = 'inProgress'
		order by started_at desc, turn_id desc limit 1`, database.EncodeText(sessionID)).Scan(&turnID, &traced)
	if errors.Is(err, sql.ErrNoRows) {
		return "", session.Trace{}, nil
	}
	turnID = database.DecodeText(turnID)
	return turnID, session.ParseTrace(turnID, traced), err
}

func queryTurns(ctx context.Context, q database.Querier, where string, args ...any) ([]Turn, error) {
	return database.ReadAll(ctx, q, "read turns", scanTurn, `select `+turnColumns+` from turns where `+where, args...)
}

func scanTurn(row database.Row) (turn Turn, err error) {
	var native string
	err = row.Scan(&turn.SessionID, &turn.TurnID, &turn.Status, &turn.Error, &turn.Generation, &turn.NodeID,
		&turn.StartedAt, &turn.CompletedAt, &native, &turn.Trace)
	turn.Native = json.RawMessage(native)
	for _, text := range []*string{&turn.SessionID, &turn.TurnID, &turn.Error} {
		*text = database.DecodeText(*text)
	}
	return turn, err
}

// TurnTimes converts the turns' times for package transcript; only ended turns have a completion time.
func TurnTimes(turns []Turn) map[string]transcript.TurnTimes {
	out := make(map[string]transcript.TurnTimes, len(turns))
	for _, turn := range turns {
		t := transcript.TurnTimes{StartedAt: turn.StartedAt}
		if turn.Status != runtime.TurnInProgress {
			t.CompletedAt = turn.CompletedAt
			t.Canceled = turn.Status != runtime.TurnDone
		}
		out[turn.TurnID] = t
	}
	return out
}

// Ended reports whether a runtime process was declared dead: at its own exit, or by another node when its node was
// declared dead. Later output of the process is ignored.
func Ended(ctx context.Context, q database.Querier, generation string) (bool, error) {
	var ended int
	err := q.QueryRowContext(ctx, `select count(*) from runtime_spools where generation = $1 and ended = 1`, generation).
		Scan(&ended)
	if err != nil {
		return false, fmt.Errorf("read whether runtime process %s is over: %w", generation, err)
	}
	return ended > 0, nil
}

// TurnMark reads the turns of a session.
func TurnMark(ctx context.Context, q database.Querier, sessionID string) (mark session.TurnMark, err error) {
	// One statement: between two, a turn could be inserted, and the count and the turn would not belong together.
	err = q.QueryRowContext(ctx, `select count(*), coalesce((select turn_id from turns where session_id = $1
			order by started_at desc, turn_id desc limit 1), '') from turns where session_id = $1`,
		database.EncodeText(sessionID)).Scan(&mark.Turns, &mark.Newest)
	if err != nil {
		return session.TurnMark{}, fmt.Errorf("count the turns of session %s: %w", sessionID, err)
	}
	mark.Newest = database.DecodeText(mark.Newest)
	return mark, nil
}
