package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// TestDecisionLoser: of 64 deciders, one gets 200, and 63 get the winning decision. (SE-10)
func TestDecisionLoser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.requests["r1"] = session.Request{ID: "r1", Kind: runtime.RequestApproval, SessionID: knownID,
		Status: session.RequestPending}
	const won = `{"status":"ok","approvalId":"r1","threadId":"` + knownID + `"}`
	const lost = `{"status":"not_found","approvalId":"r1","code":"already_resolved","resolution":{"status":"resolved",` +
		`"decision":"accept","scope":"session","decidedBy":"local","decidedAt":"2026-11-21T01:29:12.123Z"}}`
	var wg sync.WaitGroup
	answers := make(chan string, 64)
	for range 64 {
		wg.Go(func() {
			answers <- b.post("/api/approvals/r1/decision", `{"decision":"accept","scope":"session"}`).Body.String()
		})
	}
	wg.Wait()
	close(answers)
	winners := 0
	for answer := range answers {
		switch answer {
		case won:
			winners++
		case lost:
		default:
			t.Errorf("got %s", answer)
		}
	}
	if winners != 1 || len(b.sessions.settled) != 1 {
		t.Errorf("%d winners, %d settled", winners, len(b.sessions.settled))
	}
}

func TestDecisionExpired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.requests["r1"] = session.Request{ID: "r1", Kind: runtime.RequestToolInput, Status: session.RequestExpired,
		SettledAt: 1795224552123}
	expect(t, b.post("/api/tool-input/r1/decision", `{"decision":"accept"}`), http.StatusNotFound,
		`{"status":"not_found","requestId":"r1","code":"already_resolved","resolution":{"status":"expired",`+
			`"decidedAt":"2026-11-21T01:29:12.123Z"}}`)
	expect(t, b.post("/api/approvals/r1/decision", `{"decision":"accept"}`), http.StatusNotFound,
		`{"status":"not_found","approvalId":"r1"}`)
}

// TestReplies checks what the runtime receives for each form of reply.
func TestReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind runtime.RequestKind
		path string
		body string
		want runtime.Reply
	}{
		{runtime.RequestApproval, "/api/approvals/r/decision", `{"decision":"decline"}`,
			runtime.Reply{Decision: "decline", Scope: "turn"}},
		{runtime.RequestApproval, "/api/approvals/r/decision", `{"decision":"decline","message":"not now"}`,
			runtime.Reply{Decision: "decline", Scope: "turn", Message: "not now"}},
		{runtime.RequestApproval, "/api/approvals/r/decision", `{"decision":"accept","choice":{"b":1,"a":[2.0]}}`,
			runtime.Reply{Decision: "accept", Scope: "turn", Choice: []byte(`{"b":1,"a":[2.0]}`)}},
		{runtime.RequestToolInput, "/api/tool-input/r/decision", `{"decision":"decline","message":"private"}`,
			runtime.Reply{Decision: "decline", Message: "private"}},
		{runtime.RequestToolInput, "/api/tool-input/r/decision", `{"decision":"accept"}`,
			runtime.Reply{Decision: "accept", Answers: []byte(`{}`)}},
		{runtime.RequestToolInput, "/api/tool-input/r/decision", `{"decision":"cancel","answers":{}}`,
			runtime.Reply{Decision: "cancel"}},
		{runtime.RequestToolInput, "/api/tool-input/r/decision",
			`{"decision":"accept","answers":{"q":{"answers":["<A>"],"x":1}}}`,
			runtime.Reply{Decision: "accept", Answers: []byte(`{"q":{"answers":["<A>"]}}`)}},
		{runtime.RequestToolInput, "/api/tool-input/r/decision",
			`{"decision":"accept","response":{"n":1.50,"e":10000000000000000000001}}`,
			runtime.Reply{Decision: "accept", Answers: []byte(`{}`), Raw: []byte(`{"n":1.50,"e":10000000000000000000001}`)}},
		{runtime.RequestToolCall, "/api/tool-calls/r/response", `{}`,
			runtime.Reply{Success: true, ContentItems: []byte(`[]`)}},
		{runtime.RequestToolCall, "/api/tool-calls/r/response", `{"success":false,"text":"no\n"}`,
			runtime.Reply{ContentItems: []byte(`[{"type":"inputText","text":"no\n"}]`)}},
		{runtime.RequestToolCall, "/api/tool-calls/r/response",
			`{"contentItems":[{"type":"inputImage","imageUrl":" u ","z":1}]}`,
			runtime.Reply{Success: true, ContentItems: []byte(`[{"type":"inputImage","imageUrl":"u"}]`)}},
		{runtime.RequestToolCall, "/api/tool-calls/r/response", "{\"response\":{\"success\":false,\n\"a\":[]}}",
			runtime.Reply{ContentItems: []byte(`[]`), Raw: []byte(`{"success":false,"a":[]}`)}},
	} {
		b := setup(t)
		b.sessions.requests["r"] = session.Request{ID: "r", Kind: c.kind, SessionID: knownID, Status: session.RequestPending}
		if got := b.post(c.path, c.body); got.Code != http.StatusOK {
			t.Errorf("%s %s: got %d %s", c.path, c.body, got.Code, got.Body)
			continue
		}
		got := b.sessions.settled[0]
		if got.Message != c.want.Message || string(got.Choice) != string(c.want.Choice) {
			t.Errorf("%s %s: got %q, %s", c.path, c.body, got.Message, got.Choice)
		}
		if got.Decision != c.want.Decision || got.Scope != c.want.Scope || got.Success != c.want.Success ||
			string(got.Answers) != string(c.want.Answers) || string(got.ContentItems) != string(c.want.ContentItems) ||
			string(got.Raw) != string(c.want.Raw) {
			t.Errorf("%s %s:\ngot  %+v %s %s %s\nwant %+v", c.path, c.body, got, got.Answers, got.ContentItems, got.Raw, c.want)
		}
	}
}

func TestRequestLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.requests["r1"] = session.Request{
		ID: "r1", Kind: runtime.RequestApproval, SessionID: knownID, TurnID: "t", Status: session.RequestPending,
		CreatedAt: 1795224552123, Method: "item/fileChange/requestApproval", Summary: "File change approval required",
		Params: []byte(`{"reason":null}`),
	}
	expect(t, b.send(http.MethodGet, "/api/sessions/"+knownID+"/approvals", "", ""), http.StatusOK,
		`{"data":[{"approvalId":"r1","method":"item/fileChange/requestApproval","threadId":"`+knownID+
			`","turnId":"t","itemId":null,`+
			`"summary":"File change approval required","details":{"reason":null},"createdAt":"2026-11-21T01:29:12.123Z","status":"pending"}]}`)
	expect(t, b.send(http.MethodGet, "/api/sessions/"+knownID+"/tool-calls", "", ""), http.StatusOK, `{"data":[]}`)
	expect(t, b.send(http.MethodGet, "/api/sessions/"+unknownID+"/approvals", "", ""), http.StatusOK, `{"data":[]}`)
	b.sessions.requests["r2"] = session.Request{ID: "r2", Kind: runtime.RequestToolInput, SessionID: unknownID,
		Status: session.RequestPending, Method: "item/tool/requestUserInput", Params: []byte(`{"questions":[]}`)}
	b.sessions.requests["r3"] = session.Request{ID: "r3", Kind: runtime.RequestApproval, SessionID: knownID, Status: session.RequestPending,
		Params: []byte(`{"reason":"because"}`), Changes: []wire.ChangedFile{{Path: "/a", Kind: "add", Added: 1, Diff: "x"}}}
	all := b.send(http.MethodGet, "/api/requests", "", "")
	for _, part := range []string{`{"kind":"approval","approvalId":"r1",`, `,{"kind":"toolInput","requestId":"r2",`,
		`{"kind":"approval","reason":"because","changes":[{"path":"/a","kind":"add","added":1,"removed":0,"diff":"x"}],"approvalId":"r3",`} {
		if !strings.Contains(all.Body.String(), part) {
			t.Errorf("pending are %s, without %s", all.Body, part)
		}
	}
}

// A reply that the runtime would not accept is refused as the client's mistake, and the error names the field. A
// reason has a maximum length, and late deciders see it.
func TestDecisionsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.requests["r1"] = session.Request{ID: "r1", Kind: runtime.RequestApproval, SessionID: knownID,
		Status: session.RequestPending}
	expect(t, b.post("/api/approvals/r1/decision", `{"decision":"decline","message":"`+strings.Repeat("x", 4001)+`"}`),
		http.StatusBadRequest,
		`{"status":"error","code":"invalid_request","message":"request validation failed","issues":[{"origin":"string","code":"too_big",`+
			`"maximum":4000,"inclusive":true,"path":["message"],"message":"Too big: expected string to have <=4000 characters"}]}`)
	b.post("/api/approvals/r1/decision", `{"decision":"decline","message":"not now"}`)
	expect(t, b.post("/api/approvals/r1/decision", `{"decision":"accept"}`), http.StatusNotFound,
		`{"status":"not_found","approvalId":"r1","code":"already_resolved","resolution":{"status":"resolved",`+
			`"decision":"decline","scope":"turn",`+
			`"message":"not now","decidedBy":"local","decidedAt":"2026-11-21T01:29:12.123Z"}}`)

	b.sessions.requests["r2"] = session.Request{ID: "r2", Kind: runtime.RequestApproval, SessionID: knownID,
		Status: session.RequestPending}
	b.sessions.fail = &runtime.ReplyError{Field: "scope", Message: "for one call only"}
	expect(t, b.post("/api/approvals/r2/decision", `{"decision":"accept","scope":"session"}`), http.StatusBadRequest,
		`{"status":"error","code":"invalid_request","message":"request validation failed",`+
			`"issues":[{"code":"custom","path":["scope"],"message":"for one call only"}]}`)
}
