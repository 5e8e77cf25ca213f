package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/services/session"
)

func (f *fakeSessions) Queued(context.Context, string) ([]session.QueuedMessage, error) {
	return nil, nil
}

func (f *fakeSessions) Wait(_ context.Context, _ string, m session.Message) (string, []session.QueuedMessage, error) {
	if m.Text == "full" {
		return "", nil, session.ErrQueueFull
	}
	return "q-1", []session.QueuedMessage{{ID: "q-1", Text: asked(m), State: session.QueuedReady}}, nil
}

func (f *fakeSessions) EditQueued(_ context.Context, _, id, text string) ([]session.QueuedMessage, error) {
	return f.queuedOf(id, text)
}

func (f *fakeSessions) MoveQueued(_ context.Context, _, id, before string) ([]session.QueuedMessage, error) {
	return f.queuedOf(id, "before "+before)
}

func (f *fakeSessions) SendNow(_ context.Context, _, id string) ([]session.QueuedMessage, error) {
	return f.queuedOf(id, "now")
}

func (f *fakeSessions) DropQueued(_ context.Context, _, id string) ([]session.QueuedMessage, error) {
	return f.queuedOf(id, "dropped")
}

func (f *fakeSessions) queuedOf(id, text string) ([]session.QueuedMessage, error) {
	switch id {
	case "unknown":
		return nil, session.ErrQueuedNotFound
	case "sent":
		return nil, session.ErrQueuedSent
	}
	return []session.QueuedMessage{{ID: id, Text: text, State: session.QueuedReady}}, nil
}

// The queue routes return the queued messages, and refuse missing or already sent ones.
func TestQueueOfASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const all = "/api/sessions/" + knownID + "/queue"
	for _, c := range []struct {
		method, target, body string
		status               int
		has                  string
	}{
		{http.MethodGet, all, "", 200, `"data":[]}`},
		{http.MethodGet, "/api/sessions/" + unknownID + "/queue", "", 404, "not_found"},
		{http.MethodPost, all, `{"text":"hi"}`, 202, `"id":"q-1","data":[{"id":"q-1",`},
		{http.MethodPost, all, `{"text":" "}`, 400, "text"},
		{http.MethodPost, all, `{"text":"full"}`, 429, "queue_full"},
		{http.MethodPatch, all + "/q-1", `{"text":"ho"}`, 200, `"text":"ho"`},
		{http.MethodPatch, all + "/unknown", `{"text":"ho"}`, 404, "no such message"},
		{http.MethodPost, all + "/q-1/move", `{"before":"q-2"}`, 200, `"text":"before q-2"`},
		{http.MethodPost, all + "/q-1/move", `{}`, 200, `"text":"before "`},
		{http.MethodPost, all + "/q-1/send", "", 200, `"text":"now"`},
		{http.MethodPost, all + "/unknown/send", "", 404, "no such message"},
		{http.MethodPost, all + "/sent/send", "", 409, "invalid_state"},
		{http.MethodDelete, all + "/sent", "", 409, "invalid_state"},
		{http.MethodDelete, all + "/q-1", "", 200, `"text":"dropped"`},
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
