package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/queue"
	"harness/queue/jobs"
)

// fakeSuggester returns preset results.
type fakeSuggester struct {
	asked []jobs.SuggestPayload
	// stored are the keys and suggestions upserted.
	stored []any
	next   jobs.Suggested
	fail   error
}

func (f *fakeSuggester) Request(_ context.Context, in jobs.SuggestPayload) (jobs.Suggested, error) {
	f.asked = append(f.asked, in)
	return jobs.Suggested{Status: "queued", JobID: "j", RequestKey: "k", ProjectID: in.ProjectID, Dedupe: queue.Enqueued},
		f.fail
}

func (f *fakeSuggester) RequestAndWait(_ context.Context, in jobs.SuggestPayload) (jobs.Suggested, error) {
	f.asked = append(f.asked, in)
	return f.next, f.fail
}

func (f *fakeSuggester) Upsert(_ context.Context, _, key string, next jobs.Suggestion) (jobs.Suggestion, error) {
	f.stored = append(f.stored, key, next)
	next.UpdatedAt = 1795224592029
	return next, f.fail
}

// The responses of the suggested-request routes match the recorded ones byte for byte, with guards and validation in
// order.
func TestSuggestedRequestRoutes(t *testing.T) {
	t.Parallel()
	f := &fakeSuggester{next: jobs.Suggested{Status: "fallback", RequestKey: "k", Suggestion: "improve this"}}
	b := setup(t, func(o *parts) { o.Suggester, o.Suggestions = f, f })
	const base = "/api/sessions/" + knownID + "/suggested-request"
	expect(t, b.send(http.MethodPost, base+"/jobs", "", ""), http.StatusAccepted,
		`{"status":"queued","jobId":"j","requestKey":"k","sessionId":"`+knownID+`","projectId":"session:`+knownID+
			`","dedupe":"enqueued"}`)
	expect(t, b.post(base, `{"draft":" improve this ","effort":"low","model":"gpt-5.1"}`), http.StatusOK,
		`{"status":"fallback","sessionId":"`+knownID+`","requestKey":"k","suggestion":"improve this"}`)
	if got := f.asked[1]; got.Draft != "improve this" || got.Effort != "low" || got.Model != "gpt-5.1" {
		t.Errorf("asked %+v", got)
	}
	const missing = `{"status":"invalid_request","code":"missing_suggestion","message":"suggestion is required when status is complete"}`
	expect(t, b.post(base+"/upsert", `{"requestKey":"k2","status":"complete"}`), http.StatusBadRequest, missing)
	expect(t, b.post(base+"/upsert", `{"requestKey":"k1","status":"streaming"}`), http.StatusOK,
		`{"status":"ok","sessionId":"`+knownID+
			`","requestKey":"k1","entry":{"status":"streaming","updatedAt":1795224592029}}`)
	for _, c := range []struct{ path, body, says string }{
		{base, `{"draft":" "}`, `"path":["draft"],"message":"Too small: expected string to have >=1 characters"`},
		{base + "/jobs", `{"draft":"` + strings.Repeat("d", 4001) + `"}`, "expected string to have <=4000 characters"},
		{base, `{"effort":"x"}`, `Invalid option: expected one of`},
		{base, `null`, "Invalid input: expected object, received null"},
		{base + "/upsert", `{"requestKey":"k","status":"complete","suggestion":"` + strings.Repeat("s", 8001) + `"}`,
			"<=8000 characters"},
		{base + "/upsert", `{}`, `"path":["requestKey"],"message":"Invalid input: expected string, received undefined"`},
	} {
		if got := b.post(c.path, c.body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.path, got.Code, got.Body)
		}
	}
	for id, status := range map[string]int{unknownID: http.StatusNotFound, deletedID: http.StatusGone,
		systemID: http.StatusForbidden} {
		for _, path := range []string{"", "/jobs", "/upsert"} {
			if got := b.post("/api/sessions/"+id+"/suggested-request"+path, `{}`); got.Code != status {
				t.Errorf("%s of %s: %d", path, id, got.Code)
			}
		}
	}
	f.fail = &queue.Error{Code: queue.CodeFull, Message: "orchestrator queue is at project capacity"}
	expect(t, b.post(base, `{}`), http.StatusTooManyRequests,
		`{"status":"error","code":"queue_full","sessionId":"`+knownID+
			`","message":"orchestrator queue is at project capacity"}`)
	f.fail = &queue.Error{Code: queue.CodeConflict, Message: "orchestrator queue is not started"}
	if got := b.post(base+"/jobs", `{}`); got.Code != http.StatusConflict {
		t.Errorf("a conflict: %d %s", got.Code, got.Body)
	}
}
