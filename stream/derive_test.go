package stream

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/journal"
)

// recording is what the original sent for one event, sanitized.
type recording struct {
	Name   string   `json:"name"`
	Frames []string `json:"frames"`
}

func recordings(t *testing.T) []recording {
	t.Helper()
	file, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var out []recording
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one recording
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		t.Fatal("no recordings")
	}
	return out
}

// recordedFrame has every member a recorded frame may have, raw where bytes matter.
type recordedFrame struct {
	Type     string          `json:"type"`
	ThreadID string          `json:"threadId"`
	Payload  json.RawMessage `json:"payload"`
}

type recordedPayload struct {
	SignalType string          `json:"signalType"`
	Method     string          `json:"method"`
	ReceivedAt time.Time       `json:"receivedAt"`
	Params     json.RawMessage `json:"params"`
	RequestID  json.RawMessage `json:"requestId"`
	Session    *SessionRef     `json:"session"`
	Context    struct {
		TurnID string `json:"turnId"`
	} `json:"context"`
	ApprovalID string    `json:"approvalId"`
	TurnID     string    `json:"turnId"`
	ItemID     string    `json:"itemId"`
	Summary    string    `json:"summary"`
	CreatedAt  time.Time `json:"createdAt"`
}

func decode[T any](t *testing.T, data string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return out
}

// recordOf rebuilds the journal event behind recorded frames.
func recordOf(t *testing.T, frames []string) journal.Record {
	t.Helper()
	first := decode[recordedFrame](t, frames[0])
	rec := journal.Record{Pos: 7, Seq: 3, Event: journal.Event{Type: first.Type, SessionID: first.ThreadID,
		Payload: first.Payload}}
	if !strings.HasPrefix(first.Type, "app_server.") {
		return rec
	}
	signal := decode[recordedPayload](t, string(first.Payload))
	meta := Meta{ReceivedAt: signal.ReceivedAt.UnixMilli(), TurnID: signal.Context.TurnID, Session: signal.Session}
	rec.Type = EventNotification
	line := `{"method":"` + signal.Method + `","params":` + string(signal.Params) + `,"emittedAtMs":1}`
	if signal.SignalType == "request" {
		rec.Type = EventRequest
		line = `{"method":"` + signal.Method + `","id":` + string(signal.RequestID) + `,"params":` +
			string(signal.Params) + `}`
		second := decode[recordedFrame](t, frames[1])
		shown := decode[recordedPayload](t, string(second.Payload))
		ref := RequestRef{
			Kind: "approval", ID: shown.ApprovalID, Summary: shown.Summary, ThreadID: second.ThreadID, TurnID: shown.TurnID,
			ItemID: shown.ItemID, CreatedAt: shown.CreatedAt.UnixMilli(),
		}
		if ref.ID == "" {
			ref.ID = decode[string](t, string(shown.RequestID))
			ref.Kind = map[string]string{"tool_call_requested": "tool_call",
				"tool_user_input_requested": "tool_input"}[second.Type]
		}
		meta.Request = &ref
	}
	rec.Payload, rec.Meta = json.RawMessage(line), EncodeMeta(meta)
	rec.Event = Upcast(1, rec.Event)
	return rec
}

// ST-09, ST-18..ST-26, ST-28..ST-31, AS-08, AS-09, AS-12: the frames equal those of the original byte for byte, in its
// order.
func TestFramesEqualRecordings(t *testing.T) {
	t.Parallel()
	for _, one := range recordings(t) {
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			frames, err := Frames(recordOf(t, one.Frames))
			if err != nil {
				t.Fatal(err)
			}
			if len(frames) != len(one.Frames) {
				t.Fatalf("%d frames, the recording has %d", len(frames), len(one.Frames))
			}
			for i := range frames {
				if got := string(frames[i].AppendJSON(nil, false)); got != one.Frames[i] {
					t.Errorf("frame %d:\n got %s\nwant %s", i, got, one.Frames[i])
				}
				if frames[i].Pos != 7*16+int64(i) || frames[i].Seq != 3 {
					t.Errorf("frame %d is at %d, seq %d", i, frames[i].Pos, frames[i].Seq)
				}
			}
		})
	}
}

func native(kind, line string, meta Meta) journal.Record {
	return old(kind, line, string(EncodeMeta(meta)))
}

// old returns a row of schema version 1 as the current version reads it.
func old(kind, line, meta string) journal.Record {
	event := journal.Event{Type: kind, SessionID: "T", Payload: json.RawMessage(line), Meta: json.RawMessage(meta)}
	return journal.Record{Pos: 1, Seq: 1, Event: Upcast(1, event)}
}

func types(t *testing.T, rec journal.Record) string {
	t.Helper()
	frames, err := Frames(rec)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, frame := range frames {
		name := frame.Type
		if frame.Broadcast {
			name += "!"
		}
		if frame.SystemOwned {
			name += "?"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// ST-18..ST-26: the aliases, which of them are broadcasts, and the order per notification.
func TestAliases(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"turn/plan/updated":              "app_server.turn.plan.updated turn_plan_updated notification",
		"turn/diff/updated":              "app_server.turn.diff.updated turn_diff_updated notification",
		"thread/tokenUsage/updated":      "app_server.thread.token_usage.updated thread_token_usage_updated notification",
		"app/list/updated":               "app_server.app.list.updated app_list_updated! notification",
		"mcpServer/oauthLogin/completed": "app_server.mcp_server.oauth_login.completed mcp_oauth_completed! notification",
		"account/updated":                "app_server.account.updated account_updated! notification",
		"account/login/completed":        "app_server.account.login.completed account_login_completed! notification",
		"account/rateLimits/updated":     "app_server.account.rate_limits.updated account_rate_limits_updated! notification",
		"turn/started":                   "app_server.turn.started notification",
	} {
		if got := types(t, native(EventNotification, `{"method":"`+method+`","params":{}}`, Meta{})); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
		if Broadcasts(method) != strings.Contains(want, "!") {
			t.Errorf("Broadcasts(%s) is %v", method, Broadcasts(method))
		}
	}
}

// ST-27, ST-28: an unsupported request is shown raw, a supported one only as its specialized event.
func TestServerRequest(t *testing.T) {
	t.Parallel()
	const line = `{"method":"execCommandApproval","id":"r-1", "params":{"n":12345678901234567890}}`
	rec := native(EventRequest, line, Meta{})
	if got, want := types(t, rec), "app_server.request.exec_command_approval server_request"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	frames, _ := Frames(rec)
	if got := string(frames[1].Payload); got != line {
		t.Errorf("server_request is not the raw line: %s", got)
	}
	if !strings.HasSuffix(string(frames[0].Payload),
		`"params":{"n":12345678901234567890},"session":null,"requestId":"r-1"}`) {
		t.Errorf("signal lost bytes of the request: %s", frames[0].Payload)
	}
	for kind, want := range map[string]string{"approval": "approval", "tool_input": "tool_user_input_requested",
		"tool_call": "tool_call_requested"} {
		got := types(t, native(EventRequest, `{"method":"m","id":1,"params":{}}`,
			Meta{Request: &RequestRef{ID: "x", Kind: kind}}))
		if got != "app_server.request.m "+want {
			t.Errorf("%s: got %s", kind, got)
		}
	}
}

// A signal names a request by the same id as REST. Rows written by the previous version yield unchanged frames.
func TestSignalsNameRequestsByOurID(t *testing.T) {
	t.Parallel()
	const (
		asked   = `{"method":"item/tool/call","id":7,"params":{"callId":"c"}}`
		closed  = `{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":7}}`
		request = `"request":{"id":"ours","kind":"tool_call","summary":"","threadId":"T","turnId":"","itemId":"","createdAt":1}`
	)
	for _, test := range []struct{ what, kind, line, meta, want string }{
		{"interactive", EventRequest, asked, `{"requestId":"ours",` + request + `}`,
			`,"requestId":"ours","nativeRequestId":7}`},
		{"refused", EventRequest, asked, `{"requestId":""}`, `,"requestId":null,"nativeRequestId":7}`},
		{"resolved", EventNotification, closed, `{"requestId":"ours"}`,
			`"params":{"threadId":"T","requestId":7},"session":null,"requestId":"ours"}`},
		{"resolved, refused", EventNotification, closed, `{"requestId":""}`, `"session":null,"requestId":null}`},
		{"old interactive", EventRequest, asked, `{"receivedAt":1,` + request + `}`,
			`"params":{"callId":"c"},"session":null,"requestId":7}`},
		{"old refused", EventRequest, asked, `{"receivedAt":1}`, `"session":null,"requestId":7}`},
		{"old resolved", EventNotification, closed, `{"receivedAt":1,"turnId":"t"}`,
			`"params":{"threadId":"T","requestId":7},"session":null}`},
	} {
		rec := old(test.kind, test.line, test.meta)
		frames, err := Frames(rec)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(frames[0].Payload); !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: got %s", test.what, got)
		}
		if got := string(frames[1].Payload); test.kind == EventNotification && got != test.line || test.what == "refused" &&
			got != test.line {
			t.Errorf("%s: the runtime's own words became %s", test.what, got)
		}
	}
}

// AS-10, AS-11, AS-12: absent params, context and session are null.
func TestSignalNulls(t *testing.T) {
	t.Parallel()
	rec := native(EventNotification, `{"method":"configWarning"}`, Meta{ReceivedAt: 1795224552128})
	rec.SessionID = ""
	frames, err := Frames(rec)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"source":"app_server","signalType":"notification","eventType":"app_server.config_warning","method":"configWarning",` +
		`"receivedAt":"2026-11-21T01:29:12.128Z","context":{"threadId":null,"turnId":null},"params":null,"session":null}`
	if got := string(frames[0].Payload); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(frames[1].AppendJSON(nil,
		false)); got != `{"type":"notification","threadId":null,"payload":{"method":"configWarning"}}` {
		t.Errorf("got %s", got)
	}
}

// AS-13, AS-14, AS-15: no signal for purged and system-owned threads; always one without a thread.
func TestSignalIsolation(t *testing.T) {
	t.Parallel()
	const line = `{"method":"account/updated","params":{}}`
	for _, test := range []struct {
		thread string
		meta   Meta
		want   string
	}{
		{"T", Meta{Purged: true}, "account_updated! notification"},
		{"T", Meta{SystemOwned: true}, "account_updated!? notification?"},
		{"T", Meta{}, "app_server.account.updated account_updated! notification"},
		{"", Meta{}, "app_server.account.updated account_updated! notification"},
	} {
		one := native(EventNotification, line, test.meta)
		one.SessionID = test.thread
		if got := types(t, one); got != test.want {
			t.Errorf("%q %+v: got %s, want %s", test.thread, test.meta, got, test.want)
		}
	}
}

// Any other event is one frame of its type; types with a dot are internal; unreadable events are errors, never panics.
func TestOtherEvents(t *testing.T) {
	t.Parallel()
	plain := journal.Record{Pos: 1, Event: journal.Event{Type: "session_deleted", SessionID: "T", Broadcast: true,
		Payload: json.RawMessage(`{ "a" : 1 }`)}}
	if got := types(t, plain); got != "session_deleted!" {
		t.Errorf("got %s", got)
	}
	plain.Meta = EncodeMeta(Meta{SystemOwned: true})
	if got := types(t, plain); got != "session_deleted!?" {
		t.Errorf("system-owned: got %s", got)
	}
	frames, _ := Frames(plain)
	if got := string(frames[0].AppendJSON(nil,
		true)); got != `{"type":"session_deleted","threadId":"T","payload":{ "a" : 1 },"pos":16,"seq":0}` {
		t.Errorf("got %s", got)
	}
	plain.Payload = nil
	frames, _ = Frames(plain)
	if got := string(frames[0].AppendJSON(nil, false)); got != `{"type":"session_deleted","threadId":"T","payload":null}` {
		t.Errorf("got %s", got)
	}
	if got := types(t, journal.Record{
		Event: journal.Event{Type: "turn.completed", Payload: json.RawMessage(`{}`)}}); got != "" {
		t.Errorf("an internal event shows %s", got)
	}
	for _, payload := range []string{``, `[]`, `{}`, `{"method":1}`, `not json`} {
		if frames, err := Frames(native(EventNotification, payload, Meta{})); err == nil {
			t.Errorf("%q: %d frames and no error", payload, len(frames))
		}
	}
	broken := native(EventNotification, `{"method":"m"}`, Meta{})
	broken.Meta = json.RawMessage(`{"session":1}`)
	if _, err := Frames(broken); err == nil {
		t.Error("unreadable meta is no error")
	}
}

// Strings that the stream writes itself are escaped as JSON.stringify escapes them: without HTML escapes.
func TestAppendString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a<b>&c": `"a<b>&c"`, "\"\\\n\x01": `"\"\\\n\u0001"`, "äöü 😀": `"äöü 😀"`,
		"": `""`} {
		if got := string(appendString(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// A request's list entry survives params of any shape.
func TestRequestPayloadOddParams(t *testing.T) {
	t.Parallel()
	for _, params := range []string{``, `null`, `[]`, `{"questions":5}`, `{"questions":[1,{"id":"q"}],"callId":7}`} {
		for _, kind := range []string{"approval", "tool_input", "tool_call"} {
			if out := RequestPayload(RequestRef{ID: "x", Kind: kind}, "m", json.RawMessage(params)); !json.Valid(out) {
				t.Errorf("%s of %s is no JSON: %s", kind, params, out)
			}
		}
	}
	offers := RequestPayload(RequestRef{ID: "x", Kind: "approval", Decisions: json.RawMessage(`["accept",{"b":1}]`)}, "m",
		json.RawMessage(`{}`))
	if !strings.Contains(string(offers), `"summary":"","availableDecisions":["accept",{"b":1}],"details":{}`) {
		t.Errorf("the offered decisions are lost: %s", offers)
	}
	form := RequestPayload(RequestRef{ID: "x", Kind: "tool_input", Questions: json.RawMessage(`[{"id":"q"}]`)}, "m",
		json.RawMessage(`{"questions":[]}`))
	if !strings.Contains(string(form), `"questions":[{"id":"q",`) {
		t.Errorf("the form's questions are lost: %s", form)
	}
	got := RequestPayload(RequestRef{ID: "x", Kind: "tool_call", ThreadID: "T"}, "item/tool/call",
		json.RawMessage(`{"callId":"c","tool":"t"}`))
	want := `{"requestId":"x","method":"item/tool/call","threadId":"T","turnId":null,"itemId":"c","callId":"c","tool":"t","arguments":null,` +
		`"summary":"","details":{"callId":"c","tool":"t"},"createdAt":"1970-01-01T00:00:00.000Z","status":"pending"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every frame of a line from another runtime names that runtime. Frames of codex lines, and of rows from before other
// runtimes existed, are unchanged.
func TestFramesNameTheirRuntime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, line, want string }{
		{EventNotification, `{"method":"turn/plan/updated","params":{}}`,
			`{"type":"app_server.turn.plan.updated","threadId":"T","payload":{"source":"other",` +
				`"signalType":"notification","eventType":"app_server.turn.plan.updated","method":"turn/plan/updated",` +
				`"receivedAt":"1970-01-01T00:00:00.001Z",` +
				`"context":{"threadId":"T","turnId":null},"params":{},"session":null,"runtime":"other"},"runtime":"other"}
{"type":"turn_plan_updated","threadId":"T","payload":{},"runtime":"other"}
{"type":"notification","threadId":"T","payload":{"method":"turn/plan/updated","params":{}},"runtime":"other"}`},
		{EventRequest, `{"method":"m","id":1}`,
			`{"type":"app_server.request.m","threadId":"T","payload":{"source":"other","signalType":"request",` +
				`"eventType":"app_server.request.m","method":"m","receivedAt":"1970-01-01T00:00:00.001Z",` +
				`"context":{"threadId":"T","turnId":null},"params":null,` +
				`"session":null,"requestId":1,"runtime":"other"},"runtime":"other"}
{"type":"server_request","threadId":"T","payload":{"method":"m","id":1},"runtime":"other"}`},
	} {
		rec := native(test.kind, test.line, Meta{ReceivedAt: 1})
		shown := func(source string) string {
			rec.Source = source
			frames, err := Frames(rec)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for i := range frames {
				all = append(all, string(frames[i].AppendJSON(nil, false)))
			}
			return strings.Join(all, "\n")
		}
		if got := shown("other"); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		codex := strings.ReplaceAll(strings.ReplaceAll(test.want, `"source":"other"`, `"source":"app_server"`),
			`,"runtime":"other"`, "")
		for _, source := range []string{"", "codex", "harness"} {
			if got := shown(source); got != codex {
				t.Errorf("from %q: got  %s\nwant %s", source, got, codex)
			}
		}
	}
}
