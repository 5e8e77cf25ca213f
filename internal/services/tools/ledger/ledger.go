// Package ledger records tool calls: a row for each attempt, and an event in the journal for each step, in one
// transaction.
//
// It owns that no call is lost: after a server was killed, the next one finds the calls that ran, reports them, and
// requires a new decision for each.
package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/tools"
)

// source names this package in the events it causes.
const source = "tools"

// The states of a row.
const (
	requested   = "requested"
	running     = "running"
	completed   = "completed"
	denied      = "denied"
	interrupted = "interrupted"
)

// Journal has the methods of the event log that this package needs; *journal.Journal implements it.
type Journal interface {
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
}

// Ledger is the tools.Recorder of a server. Make it with New.
type Ledger struct {
	journal Journal
	nodeID  string
	now     func() time.Time
}

var _ tools.Recorder = (*Ledger)(nil)

// New makes the ledger of a node. now may be nil.
func New(events Journal, nodeID string, now func() time.Time) *Ledger {
	if now == nil {
		now = time.Now
	}
	return &Ledger{journal: events, nodeID: nodeID, now: now}
}

// Open implements tools.Recorder. It uses the latest attempt of the same call: the one with the runtime's id, else an
// interrupted one of the same tool with the same input in this session. An attempt that ran, or may have run, is cut
// off: running it again needs a decision.
func (l *Ledger) Open(ctx context.Context, call tools.Call, about tools.Requested) (tools.Call, bool, error) {
	call.ID = ids.New()
	cutOff, at := false, l.now().UnixMilli()
	_, err := l.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := l.owned(ctx, tx, call); err != nil {
			return nil, err
		}
		attempt, status, err := latest(ctx, tx, call)
		if err != nil {
			return nil, err
		}
		call.Attempt, cutOff = attempt+1, status == running || status == interrupted || status == completed
		_, err = tx.ExecContext(ctx,
			`insert into tool_calls (id, session_id, turn_id, native_id, tool, attempt, input_hash, node_id, status,
			created_at, settled_at) values ($1, $2, $3, $4, $5, $6, $7, $8, '`+requested+`', $9, 0)`, call.ID,
			database.EncodeText(call.SessionID),
			database.EncodeText(call.TurnID), database.EncodeText(call.NativeID), database.EncodeText(call.Tool), call.Attempt,
			call.InputHash, l.nodeID, at)
		if err != nil {
			return nil, fmt.Errorf("store tool call %s: %w", call.ID, err)
		}
		return []journal.Event{event(call, about, at)}, nil
	})
	return call, cutOff, err
}

// latest returns the attempt that a call repeats, and its status; 0 if it repeats none. A denied attempt did nothing:
// it counts as an attempt, but its status is not used.
func latest(ctx context.Context, tx database.Tx, call tools.Call) (attempt int, status string, err error) {
	session, tool := database.EncodeText(call.SessionID), database.EncodeText(call.Tool)
	if call.NativeID != "" {
		attempt, status, err = attemptsOf(ctx, tx, `session_id = $1 and tool = $2 and native_id = $3`, session, tool,
			database.EncodeText(call.NativeID))
		if err != nil || attempt > 0 {
			return attempt, status, err
		}
	}
	// A runtime that missed the end of a call repeats it with another id.
	attempt, status, err = attemptsOf(ctx, tx, `session_id = $1 and tool = $2 and input_hash = $3`, session, tool,
		call.InputHash)
	if status != interrupted {
		return 0, "", err
	}
	return attempt, status, err
}

// attemptsOf reads the attempts of a call: the highest number, and the status of the last one that was not denied.
func attemptsOf(ctx context.Context, tx database.Tx, where string, args ...any) (attempt int, status string,
	err error) {
	var highest sql.NullInt64
	if err := tx.QueryRowContext(ctx, `select max(attempt) from tool_calls where `+where, args...).
		Scan(&highest); err != nil {
		return 0, "", read(err)
	}
	err = tx.QueryRowContext(ctx, `select status from tool_calls where `+where+` and status <> '`+denied+
		`' order by created_at desc, id desc limit 1`, args...).Scan(&status)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return int(highest.Int64), status, read(err)
}

func read(err error) error {
	if err != nil {
		return fmt.Errorf("look for earlier attempts of a tool call: %w", err)
	}
	return nil
}

// Record implements tools.Recorder.
func (l *Ledger) Record(ctx context.Context, call tools.Call, events ...tools.Event) error {
	at := l.now().UnixMilli()
	_, err := l.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored := make([]journal.Event, 0, len(events))
		for _, one := range events {
			if _, begins := one.(tools.Started); begins {
				if err := l.owned(ctx, tx, call); err != nil {
					return nil, err
				}
			}
			if err := l.move(ctx, tx, call.ID, one, at); err != nil {
				return nil, err
			}
			stored = append(stored, event(call, one, at))
		}
		return stored, nil
	})
	return err
}

// ErrOver means that a call has ended or no longer runs: nothing more can be recorded about it.
var ErrOver = errors.New("the tool call is over")

// move sets the state of a call's row to that of an event, if its current state allows it.
func (l *Ledger) move(ctx context.Context, tx database.Tx, id string, one tools.Event, at int64) error {
	var (
		from, to string
		settled  int64
	)
	switch one.(type) {
	case tools.Started:
		from, to = requested, running
	case tools.Denied:
		from, to, settled = requested, denied, at
	case tools.Completed:
		from, to, settled = running, completed, at
	default:
		return nil
	}
	result, err := tx.ExecContext(ctx, `update tool_calls set status = $2, settled_at = $3 where id = $1 and status = $4`,
		id, to, settled, from)
	if err != nil {
		return fmt.Errorf("store that tool call %s is %s: %w", id, to, err)
	}
	changed, err := result.RowsAffected()
	if err == nil && changed != 1 {
		err = journal.Refuse(fmt.Errorf("tool call %s cannot become %s: %w", id, to, ErrOver))
	}
	return err
}

// Recover settles the calls that an earlier server of this node left open. It denies those without a decision, and
// marks running ones as interrupted, because their effects are unknown. Call it before any other call.
func (l *Ledger) Recover(ctx context.Context) error {
	at := l.now().UnixMilli()
	_, err := l.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		open, err := database.ReadAll(ctx, tx, "read the tool calls left open", scanOpen,
			`select id, session_id, turn_id, native_id, tool, attempt,
			input_hash, status from tool_calls where node_id = $1 and settled_at = 0 order by created_at, id`, l.nodeID)
		if err != nil {
			return nil, err
		}
		var stored []journal.Event
		for _, one := range open {
			state, end := denied, tools.Event(
				tools.Denied{Snapshot: ended(), Reason: "cancelled: the server ended before the call was decided", Cancelled: true})
			if one.status == running {
				state, end = interrupted, tools.Completed{Name: one.call.Tool, ExecutedBy: tools.SourceHarness,
					ExecutionEnv: "unknown", Snapshot: ran(), IsError: true, ResultPreview: json.RawMessage(
						`{"error":"interrupted: the server ended while the tool ran; whether it did its work is not known"}`)}
			}
			if _, err := tx.ExecContext(ctx, `update tool_calls set status = $2, settled_at = $3 where id = $1`, one.call.ID,
				state, at); err != nil {
				return nil, fmt.Errorf("settle tool call %s: %w", one.call.ID, err)
			}
			stored = append(stored, event(one.call, end, at))
		}
		return stored, nil
	})
	return err
}

func ended() tools.Snapshot {
	return tools.Snapshot{Decision: tools.Deny,
		Sources: []tools.Opinion{{Source: tools.SourceHarness, Result: tools.Deny, Rule: "server_ended"}}}
}

// ran returns the decision of a call that had been approved: its event tool.call.approved names the policy.
func ran() tools.Snapshot { return tools.Snapshot{Decision: tools.Allow, Sources: []tools.Opinion{}} }

type openCall struct {
	call   tools.Call
	status string
}

func scanOpen(row database.Row) (one openCall, err error) {
	c := &one.call
	err = row.Scan(&c.ID, &c.SessionID, &c.TurnID, &c.NativeID, &c.Tool, &c.Attempt, &c.InputHash, &one.status)
	for _, text := range []*string{&c.SessionID, &c.TurnID, &c.NativeID, &c.Tool} {
		*text = database.DecodeText(*text)
	}
	return one, err
}

// identity is part of every event of a call.
type identity struct {
	CallID    string `json:"tool_call_id"`
	NativeID  string `json:"runtime_tool_call_id,omitempty"`
	Attempt   int    `json:"attempt"`
	InputHash string `json:"input_hash"`
	Name      string `json:"name"`
}

// event returns a journal event. Its type has a dot: clients of the stream do not get it.
func event(call tools.Call, one tools.Event, at int64) journal.Event {
	payload := map[string]json.RawMessage{}
	for _, part := range []any{one, identity{call.ID, call.NativeID, call.Attempt, call.InputHash, call.Tool}} {
		if err := json.Unmarshal(encode(part), &payload); err != nil {
			panic("ledger: an event is no object: " + err.Error()) // a bug in the program
		}
	}
	if _, is := one.(tools.Requested); is {
		payload["input"] = call.Input
	}
	return journal.Event{SessionID: database.EncodeText(call.SessionID), TurnID: database.EncodeText(call.TurnID),
		ItemID: call.ID, Type: one.Type(), Time: at, Source: source, Payload: encode(payload)}
}

func encode(value any) json.RawMessage {
	out, err := json.Marshal(value)
	if err != nil {
		panic("ledger: an event has no JSON: " + err.Error()) // a bug in the program: events are texts, numbers and JSON
	}
	return out
}

// newID is a UUIDv7, so that ids sort by time.
