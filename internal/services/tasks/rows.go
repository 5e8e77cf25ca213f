package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
)

const taskColumns = `session_id, task_id, number, status, messages, permission_mode, stop_reason, before_turn, turn_id, outcome, last_seq,
	actor, trace_id, span_id, created_at, started_at, ended_at, origin`

// asking is the stored description of a task's request.
type asking struct {
	Origin
	AllowSources bool `json:"allow_changed_sources,omitempty"`
}

func insertTask(ctx context.Context, tx database.Tx, t Task) error {
	_, err := tx.ExecContext(ctx, `insert into tasks (id, `+taskColumns+`) values
		($1, $2, $3, $4, $5, $6, $7, '', '', '', '', 0, $8, $9, $10, $11, 0, 0, $12)`, ids.New(), database.EncodeText(t.SessionID),
		database.EncodeText(t.ID), t.number, string(t.Status), database.EncodeText(string(encode(t.Messages))), string(t.Mode),
		database.EncodeText(t.actor), t.traceID, t.spanID, t.CreatedAt,
		database.EncodeText(string(encode(asking{t.Origin, t.AllowChangedSources}))))
	if err != nil {
		return fmt.Errorf("store task %s: %w", t.ID, err)
	}
	return nil
}

func queryTasks(ctx context.Context, q database.Querier, where string, args ...any) ([]Task, error) {
	return database.ReadAll(ctx, q, "read tasks", scanTask, `select `+taskColumns+` from tasks where `+where, args...)
}

// readTask reads one task. ErrNotFound.
func readTask(ctx context.Context, q database.Querier, sessionID, taskID string) (Task, error) {
	found, err := queryTasks(ctx, q, `session_id = $1 and task_id = $2`, database.EncodeText(sessionID),
		database.EncodeText(taskID))
	if err != nil {
		return Task{}, err
	}
	if len(found) == 0 {
		return Task{}, ErrNotFound
	}
	return found[0], nil
}

// nextTask returns the first unfinished task of a session; false if there is none.
func nextTask(ctx context.Context, q database.Querier, sessionID string) (Task, bool, error) {
	found, err := queryTasks(ctx, q, `session_id = $1 and ended_at = 0 order by number limit 1`,
		database.EncodeText(sessionID))
	if err != nil || len(found) == 0 {
		return Task{}, false, err
	}
	return found[0], true, nil
}

func scanTask(row database.Row) (t Task, err error) {
	var messages, outcome, origin string
	err = row.Scan(&t.SessionID, &t.ID, &t.number, &t.Status, &messages, &t.Mode, &t.stopReason, &t.before, &t.TurnID,
		&outcome, &t.LastSeq, &t.actor, &t.traceID, &t.spanID, &t.CreatedAt, &t.StartedAt, &t.EndedAt,
		&origin)
	if err != nil {
		return t, err
	}
	for _, text := range []*string{&t.SessionID, &t.ID, &t.stopReason, &t.TurnID, &t.actor, &messages, &outcome, &origin} {
		*text = database.DecodeText(*text)
	}
	t.Outcome = decodeOutcome(outcome)
	if origin != "" { // absent in tasks of earlier versions
		var asked asking
		if err := json.Unmarshal([]byte(origin), &asked); err != nil {
			return t, fmt.Errorf("read who asked for task %s: %w", t.ID, err)
		}
		t.Origin, t.AllowChangedSources = asked.Origin, asked.AllowSources
	}
	return t, json.Unmarshal([]byte(messages), &t.Messages)
}

// change updates the single row of a task if a condition holds; false otherwise.
func change(ctx context.Context, tx database.Tx, t Task, set, condition string, args ...any) (bool, error) {
	args = append([]any{database.EncodeText(t.SessionID), database.EncodeText(t.ID)}, args...)
	result, err := tx.ExecContext(ctx, `update tasks set `+set+` where session_id = $1 and task_id = $2 and `+condition,
		args...)
	if err != nil {
		return false, fmt.Errorf("change task %s: %w", t.ID, err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// sessionModes returns the permission modes for tasks of sessions that have one.
func sessionModes(ctx context.Context, q database.Querier, sessionIDs []string) (map[string]Mode, error) {
	modes := map[string]Mode{}
	if len(sessionIDs) == 0 {
		return modes, nil
	}
	marks, args := make([]string, len(sessionIDs)), make([]any, len(sessionIDs))
	for i, id := range sessionIDs {
		marks[i], args[i] = "$"+strconv.Itoa(i+1), database.EncodeText(id)
	}
	_, err := database.ReadAll(ctx, q, "read the permission modes of sessions", func(row database.Row) (struct{}, error) {
		var id string
		var mode Mode
		err := row.Scan(&id, &mode)
		modes[database.DecodeText(id)] = mode
		return struct{}{}, err
	}, `select session_id, permission_mode from task_sessions where permission_mode <> '' and session_id in (`+
		strings.Join(marks, ", ")+`)`, args...)
	return modes, err
}

// noteSession stores that the task API uses a session, and the first event of its log.
func noteSession(ctx context.Context, tx database.Tx, sessionID string, mode Mode, noted note, at int64) error {
	_, err := tx.ExecContext(ctx, `insert into task_sessions (session_id, permission_mode, created_at, about)
		values ($1, $2, $3, $4) on conflict (session_id) do nothing`, database.EncodeText(sessionID), string(mode), at,
		database.EncodeText(string(encode(noted))))
	if err != nil {
		return fmt.Errorf("note that session %s has tasks: %w", sessionID, err)
	}
	return nil
}

// mark is a position from which a session's events can be derived.
type mark struct {
	seq, journal int64
	state        string
}

func scanMark(row database.Row) (m mark, err error) {
	err = row.Scan(&m.seq, &m.journal, &m.state)
	m.state = database.DecodeText(m.state)
	return m, err
}

// readMark reads the first matching mark in an order; false if there is none.
func readMark(ctx context.Context, q database.Querier, sessionID, where string, args ...any) (mark, bool, error) {
	found, err := database.ReadAll(ctx, q, "read the marks of a session", scanMark,
		`select seq, journal_seq, state from task_marks where session_id = $1 and `+where,
		append([]any{database.EncodeText(sessionID)}, args...)...)
	if err != nil || len(found) == 0 {
		return mark{}, false, err
	}
	return found[0], true, nil
}

func insertMark(ctx context.Context, tx database.Tx, l *Log) error {
	_, err := tx.ExecContext(ctx, `insert into task_marks (id, session_id, seq, journal_seq, state) values ($1, $2, $3, $4, $5)
		on conflict (session_id, journal_seq) do nothing`, ids.New(), database.EncodeText(l.about.SessionID), l.state.Seq,
		l.state.Journal, database.EncodeText(string(encode(l.state))))
	if err != nil {
		return fmt.Errorf("store a mark of session %s: %w", l.about.SessionID, err)
	}
	return nil
}
