package codex

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// formParams is an elicitation with every kind of field in MCP.
const formParams = `{"serverName":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","title":"Name"}, "size":{"type":"number"}, "count":{"type":"integer"}, "sure":{"type":"boolean","description":"Sure?"},
	"old":{"type":"string","enum":["a","b"],"enumNames":["Apple","Banana"]}, "one":{"type":"string","oneOf":[{"const":"x","title":"Ex"}]},
	"many":{"type":"array","items":{"anyOf":[{"const":"1","title":"One"},{"const":"2","title":"Two"}]}},
	"plain":{"type":"array","items":{"type":"string","enum":["p","q"]}}}}}`

func TestFormsAreQuestions(t *testing.T) {
	t.Parallel()
	asked, ok := requested(wire.MethodElicit, json.RawMessage(formParams))
	const want = `[{"id":"name",` +
		`"header":"Name","question":"Name (optional)","options":null,"isOther":false,"isSecret":false,"optional":true},` +
		`{"id":"size","header":"size","question":"size (optional)","options":null,"isOther":false,"isSecret":false,"optional":true},` +
		`{"id":"count","header":"count","question":"count (optional)","options":null,"isOther":false,"isSecret":false,"optional":true},` +
		`{"id":"sure","header":"sure","question":"Sure? (optional)","options":[{"label":"true","description":""},` +
		`{"label":"false","description":""}],` +
		`"isOther":false,"isSecret":false,"optional":true},` +
		`{"id":"old","header":"old","question":"old (optional)","options":[{"label":"Apple","description":"a"},` +
		`{"label":"Banana","description":"b"}],` +
		`"isOther":false,"isSecret":false,"optional":true},` +
		`{"id":"one","header":"one","question":"one (optional)","options":[{"label":"Ex","description":"x"}],` +
		`"isOther":false,"isSecret":false,"optional":true},` +
		`{"id":"many","header":"many","question":"many (optional)","options":[{"label":"One","description":"1"},` +
		`{"label":"Two","description":"2"}],` +
		`"isOther":false,"isSecret":false,"multiple":true,"optional":true},` +
		`{"id":"plain","header":"plain","question":"plain (optional)","options":[{"label":"p","description":""},` +
		`{"label":"q","description":""}],` +
		`"isOther":false,"isSecret":false,"multiple":true,"optional":true}]`
	if !ok || asked.Kind != runtime.RequestToolInput || string(asked.Questions) != want {
		t.Errorf("asked %+v\n got %s\nwant %s", asked, asked.Questions, want)
	}
	for _, params := range []string{``, `null`, `[]`, `{"requestedSchema":5}`, `{"requestedSchema":{"properties":[1]}}`,
		`{"requestedSchema":{"properties":{"a":1}}}`} {
		if asked, ok := requested(wire.MethodElicit, json.RawMessage(params)); !ok || !json.Valid(asked.Questions) {
			t.Errorf("%s asks %+v", params, asked)
		}
	}
}

func TestAnswersFillInForms(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]string{
		`{"name":["Ann"],"size":["1.50"],"count":["7"],"sure":["false"]}`: `{"count":7,"name":"Ann","size":1.5,"sure":false}`,
		`{"old":["Banana"],"one":["x"],"many":["1","Two"],"plain":["q"]}`: `{"many":["1","2"],"old":"b","one":"x","plain":["q"]}`,
		`{"name":[" "],"count":[],"many":[]}`:                             `{}`,
		`{"size":["big"]}`:                                                `"size" is a number, not "big"`,
		`{"count":["1.5"]}`:                                               `"count" is a whole number, not "1.5"`,
		`{"sure":["maybe"]}`:                                              `"sure" has no choice "maybe"`,
		`{"many":["3"]}`:                                                  `"many" has no choice "3"`,
		`{"name":["a","b"]}`:                                              `"name" takes one answer, not 2`,
		`{"shoe":["9"]}`:                                                  `the form has no field "shoe"`,
	} {
		var short map[string][]string
		if err := json.Unmarshal([]byte(answers), &short); err != nil {
			t.Fatal(err)
		}
		long := map[string]any{}
		for name, texts := range short {
			long[name] = map[string]any{"answers": texts}
		}
		encoded, err := json.Marshal(long)
		if err != nil {
			t.Fatal(err)
		}
		got, err := encodeReply(version{}, runtime.RequestRef{Method: wire.MethodElicit, Params: json.RawMessage(formParams)},
			runtime.Reply{Decision: "accept", Answers: encoded})
		var refused *runtime.ReplyError
		switch {
		case errors.As(err, &refused):
			if refused.Field != "answers" || refused.Message != want {
				t.Errorf("%s is refused with %v, want %s", answers, refused, want)
			}
		case err != nil || strings.TrimSpace(string(got)) != `{"action":"accept","content":`+want+`,"_meta":null}`:
			t.Errorf("%s: %s %v", answers, got, err)
		}
	}
}

// The adapter also answers requests that only newer or unusual versions of codex send.
func TestRepliesToElicitations(t *testing.T) {
	t.Parallel()
	const tool = `{"_meta":{"codex_approval_kind":"mcp_tool_call"%s},"mode":"form","requestedSchema":{"type":"object","properties":{}}}`
	const wantsAction = `{"mode":"openai/form","requestedSchema":{"properties":{"action":{"type":"string"}},"required":["action"]}}`
	forSession := runtime.Reply{Decision: "accept", Scope: "session"}
	for _, test := range []struct {
		params string
		reply  runtime.Reply
		want   string
	}{
		{strings.Replace(tool, "%s", `,"persist":"session"`, 1), forSession,
			`{"action":"accept","content":{},"_meta":{"persist":"session"}}`},
		{strings.Replace(tool, "%s", `,"persist":["always"]`, 1), forSession, "scope"},
		{strings.Replace(tool, "%s", ``, 1), forSession, "scope"},
		{strings.Replace(tool, "%s", ``, 1), runtime.Reply{Decision: "accept", Choice: json.RawMessage(`"accept"`)},
			"choice"},
		{strings.Replace(tool, "%s", ``, 1), runtime.Reply{Decision: "accept"},
			`{"action":"accept","content":{},"_meta":null}`},
		{wantsAction, runtime.Reply{Decision: "accept", Raw: json.RawMessage(`{"action":"accept"}`)},
			`{"action":"accept","content":{"action":"accept"},"_meta":null}`},
		{wantsAction, runtime.Reply{Decision: "accept", Raw: json.RawMessage(`{"other":1}`)}, "response"},
		{formParams, runtime.Reply{Decision: "decline", Raw: json.RawMessage(`{"action":"decline","_meta":{"a":1}}`)},
			`{"action":"decline","_meta":{"a":1}}`},
		{formParams, runtime.Reply{Decision: "decline", Raw: json.RawMessage(`{"action":"accept"}`)}, "response"},
		{formParams, runtime.Reply{Decision: "decline", Raw: json.RawMessage(`{"name":"Ann"}`)}, "response"},
		{`{"mode":"url"}`, runtime.Reply{Decision: "accept", Answers: json.RawMessage(`{}`)},
			`{"action":"accept","content":null,"_meta":null}`},
		{`{"mode":"openai/userVerification"}`, runtime.Reply{Decision: "accept", Raw: json.RawMessage(`{"signed":"x"}`)},
			`{"action":"accept","content":{"signed":"x"},"_meta":null}`},
	} {
		got, err := encodeReply(version{},
			runtime.RequestRef{Method: wire.MethodElicit, Params: json.RawMessage(test.params)}, test.reply)
		var refused *runtime.ReplyError
		if errors.As(err, &refused) {
			got = []byte(refused.Field)
		} else if err != nil {
			t.Errorf("%s: %v", test.params, err)
		}
		if strings.TrimSpace(string(got)) != test.want {
			t.Errorf("%s %+v: %s, want %s", test.params, test.reply, got, test.want)
		}
	}
	if _, err := encodeReply(version{}, runtime.RequestRef{Method: wire.MethodElicit},
		runtime.Reply{Decision: "maybe"}); err == nil {
		t.Error("an unknown decision was encoded")
	}
}

// codex gets a reason in the one approval with a member for it, and only in versions that have it.
func TestReasonOfRefusalReachesAgent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		v      version
		method string
		want   string
	}{
		{version{0, 169, 0}, methodExecLegacy, `{"decision":{"denied":{"rejection":"not now"}}}`},
		{version{0, 101, 0}, methodExecLegacy, `{"decision":"denied"}`},
		{version{0, 169, 0}, wire.MethodApproveCommand, `{"decision":"decline"}`},
	} {
		got, err := encodeReply(test.v, runtime.RequestRef{Method: test.method},
			runtime.Reply{Decision: "decline", Message: "not now"})
		if err != nil || strings.TrimSpace(string(got)) != test.want {
			t.Errorf("%v %s: %s, %v", test.v, test.method, got, err)
		}
	}
}

func TestChoicesAgreeWithTheDecision(t *testing.T) {
	t.Parallel()
	const deny = `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"deny"}}}`
	params := json.RawMessage(`{"availableDecisions":["accept","acceptForSession",` + deny + `,"cancel"]}`)
	for _, test := range []struct{ decision, choice, want string }{
		{"decline", `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"deny","host":"h"}}}`, ""},
		{"accept", deny, `with this choice the decision is "decline", not "accept"`},
		{"accept", `"acceptForSession"`, ""},
		{"cancel", `"cancel"`, ""},
		{"decline", `"decline"`, "it has to be one of"},
		{"accept", `null`, "it has to be one of"},
	} {
		reply := runtime.Reply{Decision: test.decision, Choice: json.RawMessage(test.choice)}
		_, err := encodeReply(version{}, runtime.RequestRef{Method: wire.MethodApproveCommand, Params: params}, reply)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %q", test.decision, test.choice, err, test.want)
		}
	}
	if _, err := encodeReply(version{}, runtime.RequestRef{Method: wire.MethodApproveFileChange},
		runtime.Reply{Decision: "accept", Choice: json.RawMessage(`"accept"`)}); err == nil {
		t.Error("a choice was taken where none is offered")
	}
}
