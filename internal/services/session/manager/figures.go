package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// largestFigure bounds a stored plan: a longer one stands in the journal alone.
const largestFigure = 64 << 10

// noteFigures stores the plan or the usage a signal tells.
func noteFigures(ctx context.Context, tx database.Tx, a arrival) error {
	if a.signal.Method != wire.MethodTurnPlan && a.signal.Method != wire.MethodTokenUsage {
		return nil
	}
	var row figuresRow
	err := tx.QueryRowContext(ctx, `select s.project_id, coalesce(f.plan, ''), coalesce(f.plan_turn, ''), coalesce(f.usage, '')
		from sessions s left join session_figures f on f.session_id = s.id where s.id = $1`,
		database.EncodeText(a.signal.ThreadID)).Scan(&row.project, &row.plan, &row.planTurn, &row.usage)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("read the figures of session %s: %w", a.signal.ThreadID, err)
	}
	for _, text := range []*string{&row.plan, &row.planTurn, &row.usage} {
		*text = database.DecodeText(*text)
	}
	params := a.meta.Layout.Params.Of(a.signal.Raw)
	if a.signal.Method == wire.MethodTurnPlan {
		of := wire.Members(params, "turnId", "explanation", "plan")
		row.plan, row.planTurn = string(encode(planFigure{of[0], of[1], of[2]})), a.meta.TurnID
		if len(row.plan) > largestFigure {
			row.plan = ""
		}
	} else if err := row.use(ctx, tx, a, wire.Members(params, "tokenUsage")[0]); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `insert into session_figures (session_id, plan, plan_turn, usage) values ($1, $2, $3, $4)
		on conflict (session_id) do update set plan = excluded.plan, plan_turn = excluded.plan_turn, usage = excluded.usage`,
		database.EncodeText(a.signal.ThreadID), database.EncodeText(row.plan), database.EncodeText(row.planTurn),
		database.EncodeText(row.usage))
	if err != nil {
		return fmt.Errorf("store the figures of session %s: %w", a.signal.ThreadID, err)
	}
	return nil
}

type planFigure struct {
	TurnID      json.RawMessage `json:"turnId"`
	Explanation json.RawMessage `json:"explanation"`
	Plan        json.RawMessage `json:"plan"`
}

// figuresRow is what is stored of a session's figures, with the id of its project as it is stored.
type figuresRow struct {
	project               sql.NullString
	plan, planTurn, usage string
}

// usageFigure is what a runtime says it used. TurnID is the turn in which it said so; this server adds it to what it
// stores.
type usageFigure struct {
	Total  wire.Tokens `json:"total"`
	Last   wire.Tokens `json:"last"`
	TurnID string      `json:"turnId"`
}

// use takes in what a runtime says it used, and adds what is new to the day's row.
func (r *figuresRow) use(ctx context.Context, tx database.Tx, a arrival, told json.RawMessage) error {
	var now, before usageFigure
	if len(told) == 0 || len(told) > largestFigure || json.Unmarshal(told, &now) != nil {
		return nil //nolint:nilerr // a runtime's words that say nothing here; they stand in the journal
	}
	known := r.usage != ""
	if known {
		if err := json.Unmarshal([]byte(r.usage), &before); err != nil {
			return fmt.Errorf("read the usage of session %s: %w", a.signal.ThreadID, err)
		}
	}
	now.TurnID = a.meta.TurnID
	r.usage = string(jsonobject.Parse(told).Set("turnId", quote(now.TurnID)).Encode())
	used := now.since(before)
	if another := !known || now.TurnID != before.TurnID; another && (!known || less(used, now.Last)) {
		if used = now.Last; a.thread.activeTurn == "" {
			return nil // a history from elsewhere; what it used was not used now
		}
	}
	if used == (wire.Tokens{}) {
		return nil // told again
	}
	const day = 24 * 60 * 60 * 1000
	_, err := tx.ExecContext(ctx, `insert into usage_days
		(day, session_id, project_id, runtime, requests, total, input, cached, output, reasoned)
		values ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9) on conflict (day, session_id, project_id) do update set
			requests = usage_days.requests + 1, total = usage_days.total + excluded.total,
			input = usage_days.input + excluded.input, cached = usage_days.cached + excluded.cached,
			output = usage_days.output + excluded.output, reasoned = usage_days.reasoned + excluded.reasoned`,
		a.receivedAt-a.receivedAt%day, database.EncodeText(a.signal.ThreadID), r.project.String, a.runtime,
		used.Total, used.Input, used.Cached, used.Output, used.Reasoning)
	if err != nil {
		return fmt.Errorf("store what session %s used: %w", a.signal.ThreadID, err)
	}
	return nil
}

// since is what was used between two reports. A runtime that began to count anew says what its last request used. In the
// first report of a turn its total may have grown beyond the one before all the same, but by less than that turn used.
func (u usageFigure) since(before usageFigure) wire.Tokens {
	all, was := u.Total, before.Total
	if all.Total < was.Total || all.Input < was.Input || all.Cached < was.Cached || all.Output < was.Output ||
		all.Reasoning < was.Reasoning {
		return u.Last
	}
	return wire.Tokens{Total: all.Total - was.Total, Input: all.Input - was.Input, Cached: all.Cached - was.Cached,
		Output: all.Output - was.Output, Reasoning: all.Reasoning - was.Reasoning}
}

// less tells whether a is less than b, in any way they are counted.
func less(a, b wire.Tokens) bool {
	return a.Total < b.Total || a.Input < b.Input || a.Output < b.Output
}

// fillFigures tells sessions' figures, in one query for all of them, whose cost does not depend on how long they are.
func fillFigures(ctx context.Context, q database.Querier, sessions ...*session.Session) error {
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

// orNone is a stored JSON text, nil for none.
func orNone(stored string) json.RawMessage {
	if stored == "" {
		return nil
	}
	return json.RawMessage(database.DecodeText(stored))
}
