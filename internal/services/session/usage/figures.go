// Package usage stores the runtimes' reports of a session's plan and tokens, and sums tokens by day.
//
// It must never know a running runtime or the live index.
package usage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// largestFigure limits a stored plan; a longer plan is stored only in the journal.
const largestFigure = 64 << 10

// Report is a notification of a runtime about a session.
type Report struct {
	Runtime, SessionID, TurnID, Method string
	Params                             []byte
	At                                 int64 // ms
	// Running reports that a turn of the session is running.
	Running bool
}

// Record stores the plan or the usage in a report; it ignores reports of all other methods.
func Record(ctx context.Context, tx database.Tx, r Report) error {
	if r.Method != wire.MethodTurnPlan && r.Method != wire.MethodTokenUsage {
		return nil
	}
	var row figuresRow
	err := tx.QueryRowContext(ctx, `select s.project_id, coalesce(f.plan, ''), coalesce(f.plan_turn, ''), coalesce(f.usage, '')
		from sessions s left join session_figures f on f.session_id = s.id where s.id = $1`,
		database.EncodeText(r.SessionID)).Scan(&row.project, &row.plan, &row.planTurn, &row.usage)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // deleted since
	}
	if err != nil {
		return fmt.Errorf("read the figures of session %s: %w", r.SessionID, err)
	}
	for _, text := range []*string{&row.plan, &row.planTurn, &row.usage} {
		*text = database.DecodeText(*text)
	}
	if r.Method == wire.MethodTurnPlan {
		of := wire.Members(r.Params, "turnId", "explanation", "plan")
		row.plan, row.planTurn = string(javascript.MustEncode(planFigure{of[0], of[1], of[2]})), r.TurnID
		if len(row.plan) > largestFigure {
			row.plan = ""
		}
	} else if err := row.add(ctx, tx, r, wire.Members(r.Params, "tokenUsage")[0]); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `insert into session_figures (session_id, plan, plan_turn, usage) values ($1, $2, $3, $4)
		on conflict (session_id) do update set plan = excluded.plan, plan_turn = excluded.plan_turn, usage = excluded.usage`,
		database.EncodeText(r.SessionID), database.EncodeText(row.plan), database.EncodeText(row.planTurn),
		database.EncodeText(row.usage))
	if err != nil {
		return fmt.Errorf("store the figures of session %s: %w", r.SessionID, err)
	}
	return nil
}

type planFigure struct {
	TurnID      json.RawMessage `json:"turnId"`
	Explanation json.RawMessage `json:"explanation"`
	Plan        json.RawMessage `json:"plan"`
}

// figuresRow is the stored row of a session's figures, with the stored id of its project.
type figuresRow struct {
	project               sql.NullString
	plan, planTurn, usage string
}

// usageFigure is the usage that a runtime reports. Before storing it, the server adds TurnID, the turn of the report.
type usageFigure struct {
	Total  wire.Tokens `json:"total"`
	Last   wire.Tokens `json:"last"`
	TurnID string      `json:"turnId"`
}

// add stores the usage that a runtime reports, and adds the increase to the day's row.
func (f *figuresRow) add(ctx context.Context, tx database.Tx, r Report, reported json.RawMessage) error {
	var now, before usageFigure
	if len(reported) == 0 || len(reported) > largestFigure || json.Unmarshal(reported, &now) != nil {
		return nil //nolint:nilerr // not a usage; the journal has it as it came
	}
	known := f.usage != ""
	if known {
		if err := json.Unmarshal([]byte(f.usage), &before); err != nil {
			return fmt.Errorf("read the usage of session %s: %w", r.SessionID, err)
		}
	}
	now.TurnID = r.TurnID
	f.usage = string(jsonobject.Parse(reported).Set("turnId", javascript.MustEncode(now.TurnID)).Encode())
	// After a restart of the count, a turn's first total may exceed the previous total, but by less than the turn used.
	used := now.Total.Since(before.Total, now.Last)
	if another := !known || now.TurnID != before.TurnID; another && (!known || less(used, now.Last)) {
		if used = now.Last; !r.Running {
			return nil // an imported history is from earlier use
		}
	}
	if used == (wire.Tokens{}) {
		return nil // already reported
	}
	const day = 24 * 60 * 60 * 1000
	_, err := tx.ExecContext(ctx, `insert into usage_days
		(day, session_id, project_id, runtime, requests, total, input, cached, output, reasoned)
		values ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9) on conflict (day, session_id, project_id) do update set
			requests = usage_days.requests + 1, total = usage_days.total + excluded.total,
			input = usage_days.input + excluded.input, cached = usage_days.cached + excluded.cached,
			output = usage_days.output + excluded.output, reasoned = usage_days.reasoned + excluded.reasoned`,
		r.At-r.At%day, database.EncodeText(r.SessionID), f.project.String, r.Runtime,
		used.Total, used.Input, used.Cached, used.Output, used.Reasoning)
	if err != nil {
		return fmt.Errorf("store what session %s used: %w", r.SessionID, err)
	}
	return nil
}

// less reports whether any count of a is less than that of b.
func less(a, b wire.Tokens) bool {
	return a.Total < b.Total || a.Input < b.Input || a.Output < b.Output
}

// FillFigures sets the figures of sessions with one query, whose cost does not depend on the lengths of the sessions.
func FillFigures(ctx context.Context, q database.Querier, sessions ...*session.Session) error {
	if len(sessions) == 0 {
		return nil
	}
	byID := make(map[string]*session.Session, len(sessions))
	args, marks := make([]any, len(sessions)), make([]string, len(sessions))
	for i, one := range sessions {
		byID[one.ID] = one
		args[i], marks[i] = database.EncodeText(one.ID), "$"+strconv.Itoa(i+1)
	}
	what := fmt.Sprintf("read the figures of %d sessions", len(sessions))
	return database.ReadEach(ctx, q, what, func(row database.Row) error {
		var (
			id, plan, usage string
			at              int64
		)
		if err := row.Scan(&id, &plan, &usage, &at); err != nil {
			return err
		}
		if one := byID[database.DecodeText(id)]; one != nil {
			one.Figures = &session.Figures{Plan: orNone(plan), Usage: orNone(usage), LastEntryAt: at}
		}
		return nil
	}, `select s.id, case when exists (select 1 from rolled_back_turns b where b.session_id = s.id and b.turn_id = f.plan_turn)
			then '' else coalesce(f.plan, '') end, coalesce(f.usage, ''),
			coalesce((select coalesce(e.completed_at, e.started_at, (select case when t.completed_at > 0 then t.completed_at
					else t.started_at end from turns t where t.session_id = e.session_id and t.turn_id = e.turn_id), 0)
				from transcript_entries e where e.session_id = s.id and e.place >= 0
				order by e.place desc, e.ordinal desc limit 1), 0)
		from sessions s left join session_figures f on f.session_id = s.id where s.id in (`+
		strings.Join(marks, ", ")+`)`, args...)
}

// orNone returns a stored JSON text, nil if it is empty.
func orNone(stored string) json.RawMessage {
	if stored == "" {
		return nil
	}
	return json.RawMessage(database.DecodeText(stored))
}
