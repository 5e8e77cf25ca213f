package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/queue"
	"harness/stream"
)

// The fakes return their request in place of a name.

func asked(want any) string {
	text, err := json.Marshal(want)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (f fakeJobs) Browse(_ context.Context, want queue.Browse) (queue.JobPage, error) {
	if want.Cursor == "bogus" {
		return queue.JobPage{}, queue.ErrBadCursor
	}
	return queue.JobPage{Jobs: []queue.Job{{ID: asked(want), Payload: json.RawMessage(`{}`)}}, NextCursor: "next",
		Counts: map[queue.State]int{queue.Failed: 2}}, nil
}

func (f fakeJobs) Again(ctx context.Context, id string) (queue.EnqueueResult, error) {
	job, err := f.Job(ctx, id)
	if err == nil && !job.State.Final() {
		err = queue.ErrNotOver
	}
	return queue.EnqueueResult{Status: queue.Enqueued, Job: job}, err
}

func (f fakeJobs) CancelAll(_ context.Context, filter queue.Filter, reason string) ([]queue.Job, bool, error) {
	return []queue.Job{{ID: asked(filter) + reason, Payload: json.RawMessage(`{}`)}}, true, nil
}

func (f *fakeSessions) Usage(_ context.Context, want session.UsageQuery) (session.UsageSum, error) {
	key := asked(want)
	switch want {
	case session.UsageQuery{By: session.UsageByDay, Limit: 100}:
		key = "86400000"
	case session.UsageQuery{By: session.UsageByModel, Limit: 100}:
		key = ""
	}
	return session.UsageSum{Rows: []session.Usage{{Key: key, Requests: 1, Tokens: wire.Tokens{Total: 5}, Unpriced: 5}},
		Total: session.Usage{Requests: 2}}, nil
}

// fakePrices has one price, "set".
type fakePrices struct{}

func (fakePrices) Prices(context.Context) ([]session.Price, error) {
	return []session.Price{{ID: "set", Model: "m", Since: 86400000, Input: 1}, {Model: "m", Output: 2}}, nil
}

func (fakePrices) SetPrice(_ context.Context, p session.Price) (session.Price, error) {
	p.ID = "set"
	return p, nil
}

func (fakePrices) RemovePrice(_ context.Context, id string) (bool, error) { return id == "set", nil }

type fakeEvents struct{}

func (fakeEvents) Browse(_ context.Context, want stream.Browse) (stream.BrowsedPage, error) {
	return stream.BrowsedPage{Events: []stream.BrowsedEvent{{Name: asked(want)}}, Head: 31}, nil
}

func (fakeEvents) Event(_ context.Context, cursor int64) (stream.BrowsedEvent, bool, error) {
	return stream.BrowsedEvent{Name: "approval", Cursor: cursor}, cursor == 31, nil
}

// The operators' lists respond as documented, and refuse invalid parameters.
func TestBoards(t *testing.T) {
	t.Parallel()
	over := queue.Job{ID: "over", State: queue.Failed, Payload: json.RawMessage(`{}`)}
	runs := queue.Job{ID: "runs", State: queue.Running, Payload: json.RawMessage(`{}`)}
	b := setup(t, func(o *parts) { o.Jobs, o.Events = fakeJobs{over, runs}, fakeEvents{} })
	for _, c := range []struct {
		method, target, body string
		status               int
		has                  string
	}{
		{http.MethodGet, "/api/jobs?since=2026-01-02&until=2026-01-02T00:00:01%2B00:00", "", 200,
			`\"Since\":1767312000000,\"Before\":1767312001000`},
		{http.MethodGet, "/api/jobs", "", 200,
			`"nextCursor":"next","counts":{"queued":0,"running":0,"completed":0,"failed":2,"canceled":0}}`},
		{http.MethodGet, "/api/jobs?cursor=bogus", "", 400, "Invalid cursor"},
		{http.MethodGet, "/api/jobs?since=yesterday", "", 400, "Give a time as"},
		{http.MethodGet, "/api/jobs?limit=501", "", 400, "limit"},
		{http.MethodPost, "/api/jobs/cancel", `{}`, 400, "Select jobs"},
		{http.MethodPost, "/api/jobs/cancel", `{"state":"queued"}`, 200, `"more":true}`},
		{http.MethodPost, "/api/jobs/over/run-again", "", 202, `"dedupe":"enqueued"}`},
		{http.MethodPost, "/api/jobs/runs/run-again", "", 409, "has not ended"},
		{http.MethodPost, "/api/jobs/unknown/run-again", "", 404, `{"status":"not_found","jobId":"unknown"}`},
		{http.MethodGet, "/api/events?after=1&before=2", "", 400, "not both"},
		{http.MethodGet, "/api/events", "", 200, `"payload":null}],"next":null,"pos":31}`},
		{http.MethodGet, "/api/events/31", "", 200, `"type":"approval"`},
		{http.MethodGet, "/api/events/32", "", 404, `"code":"not_found"`},
		{http.MethodGet, "/api/events/x", "", 400, "Give the pos"},
		{http.MethodGet, "/api/usage", "", 200, `{"by":"day","data":[{"key":"1970-01-02","requests":1,"sessions":0,"totalTokens":5,`},
		{http.MethodGet, "/api/usage?by=model", "", 200, `"data":[{"key":"unknown","requests":1,`},
		{http.MethodGet, "/api/usage", "", 200, `"costMicros":null,"unpricedTokens":5}],"total":{"requests":2,`},
		{http.MethodGet, "/api/usage?by=week", "", 400, "by"},
		{http.MethodGet, "/api/prices", "", 200, `{"id":null,"model":"m","from":null,"inputMicros":0,"cachedInputMicros":0,"outputMicros":2,` +
			`"setBy":null,"builtIn":true}],"builtInSince":`},
		{http.MethodPost, "/api/prices", `{"model":"m","from":"2026-01-02","inputMicros":1,"cachedInputMicros":0,"outputMicros":3}`, 200,
			`"model":"m","from":"2026-01-02","inputMicros":1,`},
		{http.MethodPost, "/api/prices", `{"model":"m","inputMicros":1,"cachedInputMicros":0,"outputMicros":3}`, 200, `"from":"2026-11-21"`},
		{http.MethodPost, "/api/prices", `{"model":"m*x","inputMicros":1,"cachedInputMicros":0,"outputMicros":3}`, 400, "start of names"},
		{http.MethodPost, "/api/prices", `{"model":"m","inputMicros":-1,"cachedInputMicros":0,"outputMicros":3}`, 400, "inputMicros"},
		{http.MethodPost, "/api/prices", `{"model":"m","inputMicros":1,"cachedInputMicros":0,"outputMicros":1000000001}`, 400, "outputMicros"},
		{http.MethodPost, "/api/prices", `{"model":"m","inputMicros":1,"cachedInputMicros":0}`, 400, "outputMicros"},
		{http.MethodDelete, "/api/prices/set", "", 200, `{"status":"ok"}`},
		{http.MethodDelete, "/api/prices/unknown", "", 404, `"code":"not_found"`},
	} {
		contentType := ""
		if c.body != "" {
			contentType = "application/json"
		}
		got := b.send(c.method, c.target, contentType, c.body)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.has) {
			t.Errorf("%s %s: %d %s, want %d with %s", c.method, c.target, got.Code, got.Body, c.status, c.has)
		}
	}
}
