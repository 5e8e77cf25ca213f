package usage

import (
	"context"
	"strconv"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// Sum adds up the reports of sessions' runtimes, including those of deleted sessions.
func Sum(ctx context.Context, db *database.DB, want session.UsageQuery) (rows []session.Usage, total session.Usage, err error) {
	where, args := `1 = 1`, []any{}
	add := func(text string, value any) {
		args = append(args, value)
		where += ` and ` + text + ` $` + strconv.Itoa(len(args))
	}
	if want.Since > 0 {
		add(`day >=`, want.Since)
	}
	if want.Before > 0 {
		add(`day <`, want.Before)
	}
	switch want.ProjectID {
	case "":
	case session.NoProject:
		where += ` and project_id = ''`
	default:
		add(`project_id =`, database.EncodeText(want.ProjectID))
	}
	if want.SessionID != "" {
		add(`session_id =`, database.EncodeText(want.SessionID))
	}
	if want.Runtime != "" {
		add(`runtime =`, want.Runtime)
	}
	key, order := map[session.UsageBy]string{session.UsageByProject: "project_id", session.UsageBySession: "session_id",
		session.UsageByRuntime: "runtime"}[want.By],
		`2 desc, 1`
	if key == "" {
		key, order = "cast(day as text)", "1 desc"
	}
	const sums = `cast(coalesce(sum(total), 0) as bigint), cast(coalesce(sum(requests), 0) as bigint),
		cast(coalesce(sum(input), 0) as bigint), cast(coalesce(sum(cached), 0) as bigint),
		cast(coalesce(sum(output), 0) as bigint), cast(coalesce(sum(reasoned), 0) as bigint)`
	scan := func(row database.Row) (u session.Usage, err error) {
		err = row.Scan(&u.Key, &u.Total, &u.Requests, &u.Input, &u.Cached, &u.Output, &u.Reasoning)
		u.Key = database.DecodeText(u.Key)
		return u, err
	}
	err = db.Snapshot(ctx, func(q database.Querier) (err error) {
		total, err = scan(q.QueryRowContext(ctx, `select '', `+sums+` from usage_days where `+where, args...))
		if err != nil {
			return err
		}
		args = append(args, want.Limit)
		rows, err = database.ReadAll(ctx, q, "add up usage", scan, `select `+key+`, `+sums+` from usage_days where `+where+
			` group by `+key+` order by `+order+` limit $`+strconv.Itoa(len(args)), args...)
		return err
	})
	return rows, total, err
}
