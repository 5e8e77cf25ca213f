package manager

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/retention"
	"harness/internal/services/session/usage"
)

// say makes the fake runtime send a notification whose params have one member beside the ids.
func (k *kit) say(method, sessionID, turnID, member string) {
	k.t.Helper()
	k.fake.emit(runtime.Signal{Kind: runtime.SignalNotification, Generation: k.fake.generation, Method: method,
		ThreadID: sessionID, TurnID: turnID, ReceivedAt: time.Now(),
		Raw: fmt.Appendf(nil, `{"method":%q,"params":{"threadId":%q,"turnId":%q,%s}}`, method, sessionID, turnID, member)})
}

// used reports a usage of total tokens, of which the last request used last.
func (k *kit) used(sessionID, turnID string, total, last int) {
	k.t.Helper()
	k.say(wire.MethodTokenUsage, sessionID, turnID, fmt.Sprintf(
		`"tokenUsage":{"total":{"totalTokens":%d,"inputTokens":%[1]d},"last":{"totalTokens":%d,"inputTokens":%[2]d},"modelContextWindow":9}`,
		total, last))
}

// list lists sessions for a query, in pages of two.
func (k *kit) list(query session.ListQuery) (ids []string) {
	k.t.Helper()
	k.flush()
	query.Limit = 2
	for _, s := range k.pages(query) {
		ids = append(ids, s.ID)
	}
	return ids
}

// Lists can include the plan, the usage and the time of the last entry of each session; so can a window.
func TestFigures(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.create()
		turn := k.send(s.ID)
		k.say(wire.MethodTurnPlan, s.ID, turn, `"explanation":null,"plan":[{"step":"look \u0000","status":"pending"}]`)
		k.used(s.ID, turn, 100, 100)
		k.fake.item(s.ID, turn, runtime.Item{ID: "one", Type: "agentMessage", Role: "assistant", Content: "yes"}, true)
		k.flush()
		check := func(got *session.Figures, plan, usage string, entry bool) {
			t.Helper()
			if got == nil {
				t.Fatal("no figures")
			}
			if string(got.Plan) != plan || string(got.Usage) != usage || entry != (got.LastEntryAt > 0) {
				t.Errorf("figures are %s, %s and %d", got.Plan, got.Usage, got.LastEntryAt)
			}
		}
		plan := fmt.Sprintf(`{"turnId":%q,"explanation":null,"plan":[{"step":"look \u0000","status":"pending"}]}`, turn)
		usage := fmt.Sprintf(`{"total":{"totalTokens":100,"inputTokens":100},"last":{"totalTokens":100,"inputTokens":100},`+
			`"modelContextWindow":9,"turnId":%q}`, turn)
		page, err := k.List(t.Context(), session.ListQuery{Figures: true})
		k.do(err)
		for _, one := range page.Sessions {
			if one.ID == s.ID {
				check(one.Figures, plan, usage, true)
			} else {
				check(one.Figures, "", "", false)
			}
		}
		detail, err := k.Read(t.Context(), s.ID, session.Reading{Figures: true})
		k.do(err)
		check(detail.Session.Figures, plan, usage, true)
		if page, err = k.List(t.Context(), session.ListQuery{}); err != nil || page.Sessions[0].Figures != nil {
			t.Errorf("figures without a request: %+v %v", page.Sessions[0].Figures, err)
		}
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		if left := k.number(`select count(*) from session_figures`); left != 0 {
			t.Errorf("%d figures of deleted sessions", left)
		}
	})
}

// byAge returns all sessions, newest first.
func (k *kit) byAge() []string {
	k.t.Helper()
	ids, err := database.ReadAll(k.t.Context(), k.db.Read(), "read sessions", func(row database.Row) (id string, err error) {
		return id, row.Scan(&id)
	}, `select id from sessions order by created_at desc, id desc`)
	k.do(err)
	return ids
}

// A list can be limited to a state or a project and sorted newest first, in full pages.
func TestListFilters(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var all []string
		for range 5 {
			all = append(all, k.create().ID)
			k.later(time.Second)
		}
		running, waiting, failed := all[0], all[1], all[2]
		k.send(running)
		k.fake.ask(waiting, k.send(waiting), 1, runtime.RequestApproval, "m", "{}")
		k.fake.notify(failed, k.send(failed), "turn/completed", runtime.TurnCompleted{TurnID: "turn-3",
			Status: runtime.TurnFailed, Error: `{"error":{"message":"no money"}}`})
		project, err := k.CreateProject(t.Context(), "web", nil)
		k.do(err)
		for _, id := range []string{waiting, all[4]} {
			_, err = k.AssignProject(t.Context(), id, &project.ID)
			k.do(err)
		}
		for name, one := range map[string]struct {
			query session.ListQuery
			want  []string
		}{
			"running":           {session.ListQuery{State: session.StateRunning}, []string{running}},
			"waiting":           {session.ListQuery{State: session.StateWaiting}, []string{waiting}},
			"idle":              {session.ListQuery{State: session.StateIdle, Sort: session.SortCreated}, []string{all[4], all[3]}},
			"unresponsive":      {session.ListQuery{State: session.StateUnresponsive}, nil},
			"created":           {session.ListQuery{Sort: session.SortCreated}, all},
			"of a project":      {session.ListQuery{ProjectID: project.ID, Sort: session.SortCreated}, []string{all[4], waiting}},
			"of no project":     {session.ListQuery{ProjectID: session.NoProject, Sort: session.SortCreated}, []string{all[3], failed, running}},
			"waiting in it":     {session.ListQuery{ProjectID: project.ID, State: session.StateWaiting}, []string{waiting}},
			"with a text":       {session.ListQuery{Text: session.NewChatTitle, State: session.StateWaiting}, []string{waiting}},
			"by text and age":   {session.ListQuery{Text: session.NewChatTitle, Sort: session.SortCreated}, all},
			"with another text": {session.ListQuery{Text: "unmatched", State: session.StateIdle}, nil},
		} {
			byAge := k.byAge()
			got := k.list(one.query)
			for !slices.Equal(byAge, k.byAge()) { // a description from the runtime, with its creation time, arrived in between
				byAge, got = k.byAge(), k.list(one.query)
			}
			want := slices.Clone(one.want)
			slices.SortFunc(want, func(a, b string) int { return slices.Index(byAge, a) - slices.Index(byAge, b) })
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		page, err := k.List(t.Context(), session.ListQuery{Limit: 1})
		k.do(err)
		if _, err = k.List(t.Context(), session.ListQuery{Sort: session.SortCreated,
			Cursor: page.NextCursor}); !errors.Is(err, session.ErrBadCursor) {
			t.Errorf("a cursor of another order: %v", err)
		}
	})
}

// Usage is counted once by session, project and day, even if the runtime repeats a report or restarts its count.
func TestUsageDays(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, elsewhere := k.create(), k.create()
		k.used(elsewhere.ID, "", 5000, 70) // reported for a history, before any request
		k.flush()
		turn := k.send(s.ID)
		k.used(s.ID, turn, 100, 100)
		k.used(s.ID, turn, 150, 50)
		k.used(s.ID, turn, 150, 50) // repeated
		k.used(s.ID, turn, 30, 30)  // count restarted
		k.flush()
		project, err := k.CreateProject(t.Context(), "web", nil)
		k.do(err)
		_, err = k.AssignProject(t.Context(), s.ID, &project.ID)
		k.do(err)
		k.used(s.ID, turn, 37, 7)
		k.used(elsewhere.ID, k.send(elsewhere.ID), 5011, 11)
		k.flush()
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		type row struct {
			session, project string
			requests, total  int64
		}
		got, err := database.ReadAll(t.Context(), k.db.Read(), "read usage", func(r database.Row) (one row, err error) {
			return one, r.Scan(&one.session, &one.project, &one.requests, &one.total)
		}, `select session_id, project_id, requests, total from model_usage order by total`)
		k.do(err)
		want := []row{{s.ID, project.ID, 1, 7}, {elsewhere.ID, "", 1, 11}, {s.ID, "", 3, 180}}
		if !slices.Equal(got, want) {
			t.Errorf("usage is %v, want %v", got, want)
		}
		k.later(364 * day)
		if gone := k.prune(retention.Policy{}); gone["model_usage"] != 0 {
			t.Errorf("of a year's usage went %d", gone["model_usage"])
		}
		k.later(2 * day)
		if gone := k.prune(retention.Policy{}); gone["model_usage"] != 3 {
			t.Errorf("of older usage went %d rows, want 3", gone["model_usage"])
		}
	})
}

// Each turn counts with its own usage, even if each turn ran in another process.
func TestTurnsOfKilledProcessesCount(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for name, one := range map[string]struct {
			turns [][][2]int // reports of each turn: total and last
			want  int64
		}{
			"equal turns, each in a process of its own": {[][][2]int{{{170, 170}}, {{170, 170}}, {{170, 170}}, {{170, 170}}}, 680},
			"larger turns":                    {[][][2]int{{{100, 100}}, {{150, 150}}, {{400, 400}}}, 650},
			"smaller turns":                   {[][][2]int{{{400, 400}}, {{150, 150}}, {{100, 100}}}, 650},
			"one process":                     {[][][2]int{{{170, 170}}, {{340, 170}}, {{510, 170}}}, 510},
			"two requests in each":            {[][][2]int{{{100, 100}, {170, 70}}, {{270, 100}, {340, 70}}}, 340},
			"reports that add up in the turn": {[][][2]int{{{100, 100}, {170, 170}}, {{270, 100}, {340, 170}}}, 340},
			"the same, each in a process":     {[][][2]int{{{100, 100}, {170, 170}}, {{100, 100}, {170, 170}}}, 340},
			"reported twice":                  {[][][2]int{{{170, 170}, {170, 170}}, {{340, 170}, {340, 170}}}, 340},
			"one report was lost":             {[][][2]int{{{100, 100}}, {{300, 70}}}, 300},
		} {
			s := k.create()
			for _, reports := range one.turns {
				turn := k.send(s.ID)
				for _, report := range reports {
					k.used(s.ID, turn, report[0], report[1])
				}
				k.end(s.ID, turn)
				k.used(s.ID, turn, reports[len(reports)-1][0], reports[len(reports)-1][1]) // reported again when the conversation is loaded
			}
			k.flush()
			sum, err := k.Usage(t.Context(), session.UsageQuery{SessionID: s.ID, Limit: 1})
			k.do(err)
			if sum.Total.Total != one.want {
				t.Errorf("%s: %d are counted, want %d", name, sum.Total.Total, one.want)
			}
		}
	})
}

// Usage is added up by day, project, session and runtime.
func TestUsage(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into usage_days
				(day, session_id, project_id, runtime, requests, total, input, cached, output, reasoned) values
				(0, 'a', '', 'codex', 1, 10, 6, 5, 4, 3), (86400000, 'a', 'p', 'codex', 2, 20, 20, 0, 0, 0),
				(86400000, 'b', 'p', 'claude', 3, 5, 5, 0, 0, 0)`)
			return err
		}))
		for name, c := range map[string]struct {
			want session.UsageQuery
			rows string
		}{
			"days":        {session.UsageQuery{By: session.UsageByDay}, "[86400000:5/25 0:1/10] 6/35"},
			"projects":    {session.UsageQuery{By: session.UsageByProject}, "[p:5/25 :1/10] 6/35"},
			"sessions":    {session.UsageQuery{By: session.UsageBySession}, "[a:3/30 b:3/5] 6/35"},
			"runtimes":    {session.UsageQuery{By: session.UsageByRuntime}, "[codex:3/30 claude:3/5] 6/35"},
			"no project":  {session.UsageQuery{By: session.UsageByDay, ProjectID: session.NoProject}, "[0:1/10] 1/10"},
			"a project":   {session.UsageQuery{By: session.UsageBySession, ProjectID: "p"}, "[a:2/20 b:3/5] 5/25"},
			"since":       {session.UsageQuery{By: session.UsageBySession, Since: 1, Before: 86400001}, "[a:2/20 b:3/5] 5/25"},
			"a session":   {session.UsageQuery{By: session.UsageByDay, SessionID: "b"}, "[86400000:3/5] 3/5"},
			"a runtime":   {session.UsageQuery{By: session.UsageByDay, Runtime: "unknown"}, "[] 0/0"},
			"models":      {session.UsageQuery{By: session.UsageByModel}, "[:6/35] 6/35"},
			"the largest": {session.UsageQuery{By: session.UsageBySession, Limit: 1}, "[a:3/30] 6/35"},
		} {
			if c.want.Limit == 0 {
				c.want.Limit = 9
			}
			sum, err := k.Usage(t.Context(), c.want)
			k.do(err)
			said := []string{}
			for _, row := range sum.Rows {
				said = append(said, fmt.Sprintf("%s:%d/%d", row.Key, row.Requests, row.Total))
			}
			if got := fmt.Sprintf("%v %d/%d", said, sum.Total.Requests, sum.Total.Total); got != c.rows {
				t.Errorf("%s: %s, want %s", name, got, c.rows)
			}
		}
	})
}

// Usage counts for the model that answered: the reported one, the one of a change during the turn, the session's, or the
// one that the runtime opened the session with. It outlives a restart. MO-01
func TestUsageByModel(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		usual, asked := k.create(), "wished/model"
		wished, err := k.Create(t.Context(), session.Create{Model: &asked})
		k.do(err)
		turn := k.send(usual.ID)
		k.used(usual.ID, turn, 10, 10)
		k.say(wire.MethodTokenUsage, usual.ID, turn, `"model":"named","tokenUsage":{"total":{"totalTokens":12},"last":{"totalTokens":2}}`)
		k.used(usual.ID, turn, 15, 3) // still the named one
		k.end(usual.ID, turn)
		turn = k.send(wished.ID)
		k.used(wished.ID, turn, 100, 100)
		k.say(wire.MethodModelRerouted, wished.ID, turn, `"fromModel":"wished/model","toModel":"other"`)
		k.used(wished.ID, turn, 300, 200)
		k.end(wished.ID, turn)
		k.flush()
		k = k.reopenKnown()
		turn = k.send(usual.ID)
		k.used(usual.ID, turn, 1015, 1000)
		k.end(usual.ID, turn)
		k.flush()
		sum, err := k.Usage(t.Context(), session.UsageQuery{By: session.UsageByModel, Limit: 9})
		k.do(err)
		var got []string
		for _, row := range sum.Rows {
			got = append(got, fmt.Sprintf("%s:%d/%d", row.Key, row.Requests, row.Total))
		}
		if want := "[usual:2/1010 other:1/200 wished/model:1/100 named:2/5]"; fmt.Sprint(got) != want {
			t.Errorf("usage is %v, want %s", got, want)
		}
		if want := "[usual other wished/model named]"; fmt.Sprint(sum.UnpricedModels) != want {
			t.Errorf("models without a price are %v, want %s", sum.UnpricedModels, want)
		}
	})
}

// Money follows from the prices of each day; tokens without a price are counted apart and cost nothing. MO-02
func TestMoney(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		now := time.UnixMilli(5 * day.Milliseconds())
		prices := &usage.Prices{Journal: k.log, DB: k.db, Clock: func() time.Time { return now }}
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into model_usage
				(day, session_id, project_id, model, runtime, requests, total, input, cached, output, reasoned) values
				(0, 'a', '', 'own', 'codex', 1, 3000000, 2000000, 1000000, 1000000, 0),
				(86400000, 'a', '', 'own', 'codex', 1, 3000000, 2000000, 1000000, 1000000, 0),
				(86400000, 'b', '', 'openai/gpt-5-2025-08-07', 'opencode', 1, 1000000, 0, 0, 1000000, 0),
				(86400000, 'c', '', 'mystery', 'codex', 1, 70, 70, 0, 0, 0),
				(86400000, 'c', '', '', 'codex', 1, 5, 5, 0, 0, 0)`)
			return err
		}))
		set := func(model string, since, input, cached, output int64) session.Price {
			p, err := prices.SetPrice(t.Context(), session.Price{Model: model, Since: since, Input: input, Cached: cached, Output: output,
				Actor: "ann"})
			k.do(err)
			return p
		}
		check := func(what, want string) {
			t.Helper()
			sum, err := k.Usage(t.Context(), session.UsageQuery{By: session.UsageBySession, Limit: 9})
			k.do(err)
			got := ""
			for _, row := range sum.Rows {
				got += fmt.Sprintf("%s %d-%d ", row.Key, row.Cost, row.Unpriced)
			}
			if got += fmt.Sprint(sum.Total.Cost, sum.Total.Unpriced, sum.Total.Sessions, sum.UnpricedModels); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		check("built-in prices", "a 0-6000000 b 10000000-0 c 0-75 10000000 6000075 3 [own mystery]")
		first := set("own", 1, 4, 2, 1) // the day counts
		second := set("own", 86400000, 40, 20, 10)
		check("two prices", "a 77-0 b 10000000-0 c 0-75 10000077 75 3 [mystery]")
		if again := set("own", 86400000, 0, 0, 10); again.ID != second.ID {
			t.Errorf("the price of a day was stored twice")
		}
		check("a corrected price, and one that is free", "a 17-0 b 10000000-0 c 0-75 10000017 75 3 [mystery]")
		set("gpt-5*", 0, 1, 1, 1)
		check("an own price precedes a built-in one", "a 17-0 b 1-0 c 0-75 18 75 3 [mystery]")
		for _, want := range []bool{true, false} {
			found, err := prices.RemovePrice(t.Context(), first.ID)
			k.do(err)
			if found != want {
				t.Errorf("a removed price was found: %v", found)
			}
		}
		check("after a removal", "a 10-3000000 b 1-0 c 0-75 11 3000075 3 [own mystery]")
		kinds, err := database.ReadTexts(t.Context(), k.db.Read(), "read events",
			`select type from journal_events where type like 'price.%' order by pos`)
		k.do(err)
		if want := "[price.set price.set price.set price.set price.removed]"; fmt.Sprint(kinds) != want {
			t.Errorf("the events are %v, want %s", kinds, want)
		}
	})
}
