// Package usage stores the runtimes' reports of a session's plan and tokens, and sums tokens by day.
//
// It must never know a running runtime or the live index.
package usage

import (
	"cmp"
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

// Record stores the plan, the usage or the change of the model in a report; it ignores reports of all other methods.
func Record(ctx context.Context, tx database.Tx, r Report) error {
	if r.Method != wire.MethodTurnPlan && r.Method != wire.MethodTokenUsage && r.Method != wire.MethodModelRerouted {
		return nil
	}
	var row figuresRow
	err := tx.QueryRowContext(ctx, `select s.project_id, coalesce(s.controls, ''), s.model, coalesce(f.plan, ''),
			coalesce(f.plan_turn, ''), coalesce(f.usage, ''), coalesce(f.model, ''), coalesce(f.model_turn, '')
		from sessions s left join session_figures f on f.session_id = s.id where s.id = $1`,
		database.EncodeText(r.SessionID)).Scan(&row.project, &row.controls, &row.reported, &row.plan, &row.planTurn, &row.usage,
		&row.model, &row.modelTurn)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // deleted since
	}
	if err != nil {
		return fmt.Errorf("read the figures of session %s: %w", r.SessionID, err)
	}
	for _, text := range []*string{&row.controls, &row.reported, &row.plan, &row.planTurn, &row.usage, &row.model, &row.modelTurn} {
		*text = database.DecodeText(*text)
	}
	switch r.Method {
	case wire.MethodModelRerouted:
		row.model, row.modelTurn = modelName(wire.Members(r.Params, "toModel")[0]), r.TurnID
	case wire.MethodTurnPlan:
		of := wire.Members(r.Params, "turnId", "explanation", "plan")
		row.plan, row.planTurn = string(javascript.MustEncode(planFigure{of[0], of[1], of[2]})), r.TurnID
		if len(row.plan) > largestFigure {
			row.plan = ""
		}
	default:
		of := wire.Members(r.Params, "tokenUsage", "model")
		row.answers(r, modelName(of[1]))
		if err := row.add(ctx, tx, r, of[0]); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `insert into session_figures (session_id, plan, plan_turn, usage, model, model_turn)
		values ($1, $2, $3, $4, $5, $6) on conflict (session_id) do update set plan = excluded.plan,
			plan_turn = excluded.plan_turn, usage = excluded.usage, model = excluded.model, model_turn = excluded.model_turn`,
		database.EncodeText(r.SessionID), database.EncodeText(row.plan), database.EncodeText(row.planTurn),
		database.EncodeText(row.usage), database.EncodeText(row.model), database.EncodeText(row.modelTurn))
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
	// controls and reported are the session's controls (JSON) and the model that its runtime reported for it.
	controls, reported string
	// model answers in modelTurn, "" if unknown.
	model, modelTurn string
}

// maxModel limits the length of a model's name.
const maxModel = 200

// modelName returns the name of a model in a report, "" if there is none.
func modelName(of json.RawMessage) string {
	name := wire.Text(of)
	if len(name) > maxModel {
		return ""
	}
	return name
}

// answers sets the model of a report: the reported one, the one of its turn so far, the one that the session asks for,
// or the one that the runtime reported for the session. A turn keeps its model if the session asks for another one.
func (f *figuresRow) answers(r Report, reported string) {
	if reported == "" && f.modelTurn == r.TurnID {
		return
	}
	if reported == "" && f.controls != "" {
		var controls session.Controls
		if json.Unmarshal([]byte(f.controls), &controls) == nil {
			reported = controls.ModelName()
		}
	}
	f.model, f.modelTurn = cmp.Or(reported, f.reported), r.TurnID
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
	_, err := tx.ExecContext(ctx, `insert into model_usage
		(day, session_id, project_id, model, runtime, requests, total, input, cached, output, reasoned)
		values ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10) on conflict (day, session_id, project_id, model) do update set
			requests = model_usage.requests + 1, total = model_usage.total + excluded.total,
			input = model_usage.input + excluded.input, cached = model_usage.cached + excluded.cached,
			output = model_usage.output + excluded.output, reasoned = model_usage.reasoned + excluded.reasoned`,
		r.At-r.At%day, database.EncodeText(r.SessionID), f.project.String, database.EncodeText(f.model), r.Runtime,
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
