package usage

import (
	"context"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// used is all reported usage. Rows of servers that did not know models have none.
const used = `(select day, session_id, project_id, '' as model, runtime, requests, total, input, cached, output, reasoned
		from usage_days
	union all select day, session_id, project_id, model, runtime, requests, total, input, cached, output, reasoned
		from model_usage) u`

// sums are the columns that scanUsage reads after the key. Money is computed from tokens each time, so a corrected price
// corrects the past.
const sums = `cast(coalesce(sum(u.total), 0) as bigint), cast(coalesce(sum(u.requests), 0) as bigint),
	cast(count(distinct u.session_id) as bigint),
	cast(coalesce(sum(u.input), 0) as bigint), cast(coalesce(sum(u.cached), 0) as bigint),
	cast(coalesce(sum(u.output), 0) as bigint), cast(coalesce(sum(u.reasoned), 0) as bigint),
	cast(coalesce(sum((cast(case when u.cached < u.input then u.input - u.cached else 0 end as numeric) * p.input
		+ cast(u.cached as numeric) * p.cached + cast(u.output as numeric) * p.output) / 1000000), 0) as bigint),
	cast(coalesce(sum(case when p.model is null then u.total else 0 end), 0) as bigint)`

// priced joins each row with the price of its model on its day.
const priced = used + ` left join p on p.model = u.model and u.day >= p.since and u.day < p.until`

// Sum adds up the reports of sessions' runtimes, including those of deleted sessions.
func Sum(ctx context.Context, db *database.DB, want session.UsageQuery) (sum session.UsageSum, err error) {
	where, args := condition(want)
	key, order := map[session.UsageBy]string{session.UsageByProject: "u.project_id", session.UsageBySession: "u.session_id",
		session.UsageByRuntime: "u.runtime", session.UsageByModel: "u.model"}[want.By], `2 desc, 1`
	if key == "" {
		key, order = "cast(u.day as text)", "1 desc"
	}
	err = db.Snapshot(ctx, func(q database.Querier) error {
		with, args, err := priceTable(ctx, q, where, args)
		if err != nil {
			return err
		}
		sum.Total, err = scanUsage(q.QueryRowContext(ctx, with+`select '', `+sums+` from `+priced+where, args...))
		if err != nil {
			return err
		}
		sum.UnpricedModels, err = database.ReadTexts(ctx, q, "list models without a price", with+`select u.model from `+priced+where+
			` and u.model <> '' and p.model is null group by u.model order by sum(u.total) desc, 1 limit 50`, args...)
		if err != nil {
			return err
		}
		for i, model := range sum.UnpricedModels {
			sum.UnpricedModels[i] = database.DecodeText(model)
		}
		args = append(args, want.Limit)
		sum.Rows, err = database.ReadAll(ctx, q, "add up usage", scanUsage, with+`select `+key+`, `+sums+` from `+priced+where+
			` group by `+key+` order by `+order+` limit $`+strconv.Itoa(len(args)), args...)
		return err
	})
	return sum, err
}

func scanUsage(row database.Row) (u session.Usage, err error) {
	err = row.Scan(&u.Key, &u.Total, &u.Requests, &u.Sessions, &u.Input, &u.Cached, &u.Output, &u.Reasoning, &u.Cost, &u.Unpriced)
	u.Key = database.DecodeText(u.Key)
	return u, err
}

// condition returns the selection of a query, with its arguments.
func condition(want session.UsageQuery) (where string, args []any) {
	where = ` where 1 = 1`
	add := func(text string, value any) {
		args = append(args, value)
		where += ` and u.` + text + ` $` + strconv.Itoa(len(args))
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
		where += ` and u.project_id = ''`
	default:
		add(`project_id =`, database.EncodeText(want.ProjectID))
	}
	if want.SessionID != "" {
		add(`session_id =`, database.EncodeText(want.SessionID))
	}
	if want.Runtime != "" {
		add(`runtime =`, want.Runtime)
	}
	return where, args
}

// priceTable returns the with clause of the prices of the selected models: a row per model and span of days.
func priceTable(ctx context.Context, q database.Querier, where string, args []any) (with string, all []any, err error) {
	models, err := database.ReadTexts(ctx, q, "list used models", `select distinct u.model from `+used+where, args...)
	if err != nil {
		return "", nil, err
	}
	own, err := readPrices(ctx, q)
	if err != nil {
		return "", nil, err
	}
	table, rows := append(own, BuiltIn()...), []string{}
	number := func(n int64) string { return "cast(" + strconv.FormatInt(n, 10) + " as bigint)" }
	for _, stored := range models {
		for _, s := range spansOf(table, database.DecodeText(stored)) {
			args = append(args, stored)
			rows = append(rows, `select cast($`+strconv.Itoa(len(args))+` as text), `+strings.Join([]string{number(s.price.Since),
				number(s.until), number(s.price.Input), number(s.price.Cached), number(s.price.Output)}, ", "))
		}
	}
	if len(rows) == 0 {
		rows = []string{`select '', 0, 0, 0, 0, 0 where 1 = 0`}
	}
	return `with p (model, since, until, input, cached, output) as (` + strings.Join(rows, " union all ") + `) `, args, nil
}
