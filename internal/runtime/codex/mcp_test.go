package codex_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/codextest"
	"harness/tests/mcptest"
)

// asking is a conversation of a real codex with a real MCP server that may request permissions.
type asking struct {
	*bundle
	t      *testing.T
	thread string
	seen   int // answered requests so far
}

func newAsking(t *testing.T) *asking {
	t.Helper()
	b := setup(t, codextest.Default, codextest.Feature("request_permissions_tool"),
		codextest.Config(mcptest.Config(os.Args[0], runAsMCP)))
	return &asking{bundle: b, t: t,
		thread: b.thread(t, runtime.StartThread{ApprovalPolicy: "on-request", Sandbox: "read-only"})}
}

// requests returns the pending requests so far.
func (a *asking) requests() []runtime.Signal {
	var out []runtime.Signal
	for _, s := range a.all() {
		if s.Kind == runtime.SignalRequest && s.Change != nil {
			out = append(out, s)
		}
	}
	return out
}

// say runs a turn with one request of codex, answers it, and returns the turn's status and the model's last input
// text.
func (a *asking) say(what string, answer func(runtime.Signal) runtime.Reply) (runtime.TurnStatus, string) {
	a.t.Helper()
	turn := a.turn(a.t, runtime.StartTurn{ThreadID: a.thread}, what)
	if answer != nil {
		asked := a.wait(a.t, "a request", func(s runtime.Signal) bool {
			return s.Kind == runtime.SignalRequest && s.TurnID == turn
		})
		reply := answer(asked)
		if err := a.codex.CheckReply(ref(asked), reply); err != nil {
			a.t.Fatalf("%+v was refused: %v", reply, err)
		}
		a.seen++
		a.answer(a.t, asked, reply)
	}
	status := a.completed(a.t, turn).Status
	if got := len(a.requests()); got != a.seen {
		a.t.Errorf("%s: codex has asked %d times, want %d", what, got, a.seen)
	}
	outputs := a.model.Outputs()
	if len(outputs) == 0 {
		return status, ""
	}
	return status, outputs[len(outputs)-1].Text
}

// A user decides whether an MCP tool that is not marked read-only runs: for one call, for the session, or not.
func TestAnMCPToolRunsWhenItIsApproved(t *testing.T) {
	t.Parallel()
	a := newAsking(t)
	for _, test := range []struct {
		reply runtime.Reply
		said  string
	}{
		{runtime.Reply{Decision: "decline", Message: "not on a Friday"}, "user rejected MCP tool call"},
		{runtime.Reply{Decision: "cancel"}, "user cancelled MCP tool call"},
		{runtime.Reply{Decision: "accept", Scope: "turn"}, "wiped 1"},
		{runtime.Reply{Decision: "accept", Scope: "session"}, "wiped 2"},
	} {
		status, said := a.say("MOCK_CALL[tiny/wipe|{}]END", func(asked runtime.Signal) runtime.Reply {
			want := runtime.InteractiveRequested{Kind: runtime.RequestApproval, Summary: "MCP tool approval required: tiny/wipe",
				Decisions: json.RawMessage(`["accept","acceptForSession","decline","cancel"]`)}
			words, _ := asked.Change.(runtime.InteractiveRequested)
			words.Asked = runtime.Asked{} // see TestRequestsInNeutralVocabulary
			if !reflect.DeepEqual(words, want) {
				t.Errorf("asked %+v", asked.Change)
			}
			return test.reply
		})
		if status != runtime.TurnDone || !strings.HasSuffix(said, test.said) {
			t.Errorf("%+v: the turn is %s, the model got %q", test.reply, status, said)
		}
	}
	// Allowed for the session: there is no second request. A read-only tool never causes one.
	if _, said := a.say("MOCK_CALL[tiny/wipe|{}]END", nil); !strings.HasSuffix(said, "wiped 3") {
		t.Errorf("the model got %q", said)
	}
	if _, said := a.say("MOCK_CALL[tiny/look|{}]END", nil); !strings.HasSuffix(said, "looked") {
		t.Errorf("the model got %q", said)
	}
}

// An MCP server's request to its user becomes a question, and the server gets the answer in MCP's format.
func TestAnMCPServersQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	a := newAsking(t)
	all := json.RawMessage(
		`{"name":{"answers":["Ann"]},"age":{"answers":["7"]},"member":{"answers":["true"]},"colour":{"answers":["red"]}}`)
	for _, test := range []struct {
		reply runtime.Reply
		said  string
	}{
		{runtime.Reply{Decision: "decline"}, `{"action":"decline"}`},
		{runtime.Reply{Decision: "decline", Message: "none of your business"},
			`{"action":"decline","_meta":{"message":"none of your business"}}`},
		{runtime.Reply{Decision: "cancel"}, `{"action":"cancel"}`},
		{runtime.Reply{Decision: "accept", Answers: all},
			`{"action":"accept","content":{"age":7,"colour":"red","member":true,"name":"Ann"}}`},
		{runtime.Reply{Decision: "accept", Raw: json.RawMessage(`{"name":"Bob"}`)},
			`{"action":"accept","content":{"name":"Bob"}}`},
		{runtime.Reply{Decision: "accept", Raw: json.RawMessage(`{"action":"accept","content":{"name":"Eve"},"_meta":null}`)},
			`{"action":"accept","content":{"name":"Eve"}}`},
	} {
		_, said := a.say("MOCK_CALL[tiny/form|{}]END", func(asked runtime.Signal) runtime.Reply {
			change, _ := asked.Change.(runtime.InteractiveRequested)
			if change.Kind != runtime.RequestToolInput || change.Summary != "Tool input required by tiny: Who are you?" ||
				len(change.Questions) == 0 {
				t.Errorf("asked %+v", asked.Change)
			}
			var refused *runtime.ReplyError
			if err := a.codex.CheckReply(ref(asked), runtime.Reply{Decision: "accept"}); !errors.As(err, &refused) ||
				refused.Field != "answers" {
				t.Errorf("a form without what it requires: %v", err)
			}
			return test.reply
		})
		if !strings.HasSuffix(said, "the user said "+test.said) {
			t.Errorf("%+v: the server got %q", test.reply, said)
		}
	}
	_, said := a.say("MOCK_CALL[tiny/visit|{}]END", func(asked runtime.Signal) runtime.Reply {
		change, _ := asked.Change.(runtime.InteractiveRequested)
		if change.Kind != runtime.RequestToolInput ||
			change.Summary != "Tool input required by tiny: Sign in (https://example.com/sign-in)" {
			t.Errorf("asked %+v", asked.Change)
		}
		return runtime.Reply{Decision: "accept", Answers: json.RawMessage("{}")}
	})
	if !strings.Contains(said, `the user said {"action":"accept"`) {
		t.Errorf("the server got %q", said)
	}
}

// Permissions beyond the sandbox are granted for the turn or the session, refused, or refused together with the turn.
func TestPermissionsAreGranted(t *testing.T) {
	t.Parallel()
	a := newAsking(t)
	const nothing = `{"permissions":{"network":null,"file_system":null},"scope":"turn"}`
	for _, test := range []struct {
		reply  runtime.Reply
		status runtime.TurnStatus
		said   string
	}{
		{runtime.Reply{Decision: "decline"}, runtime.TurnDone, nothing},
		{runtime.Reply{Decision: "accept"}, runtime.TurnDone,
			`{"permissions":{"network":null,"file_system":{"write":["/opt"]}},"scope":"turn"}`},
		{runtime.Reply{Decision: "accept", Scope: "session"}, runtime.TurnDone,
			`{"permissions":{"network":null,"file_system":{"write":["/opt"]}},"scope":"session"}`},
		{runtime.Reply{Decision: "cancel"}, runtime.TurnInterrupted, ""},
	} {
		const ask = `MOCK_CALL[request_permissions|{"reason":"why","permissions":{"file_system":{"write":["/opt"]}}}]END`
		status, said := a.say(ask, func(asked runtime.Signal) runtime.Reply {
			change, _ := asked.Change.(runtime.InteractiveRequested)
			if change.Kind != runtime.RequestApproval || change.Summary != "Permissions approval required: why" {
				t.Errorf("asked %+v", asked.Change)
			}
			return test.reply
		})
		if status != test.status || test.said != "" && said != test.said {
			t.Errorf("%+v: the turn is %s, the model got %s", test.reply, status, said)
		}
	}
}

// A client can choose one of codex's offered decisions unchanged: there is no further request for the command it
// allows.
func TestAnOfferedDecisionIsChosen(t *testing.T) {
	t.Parallel()
	a := newAsking(t)
	a.thread = a.bundle.thread(t, runtime.StartThread{ApprovalPolicy: "untrusted", Sandbox: "danger-full-access"})
	const command = "MOCK_CMD[git config --list --file /dev/null]"
	a.say(command, func(asked runtime.Signal) runtime.Reply {
		offered := asked.Change.(runtime.InteractiveRequested).Decisions
		var choices []json.RawMessage
		if err := json.Unmarshal(offered, &choices); err != nil {
			t.Fatalf("codex offers %s: %v", offered, err)
		}
		at := slices.IndexFunc(choices, func(c json.RawMessage) bool {
			return strings.Contains(string(c), "acceptWithExecpolicyAmendment")
		})
		if at < 0 {
			t.Fatalf("codex offers %s", offered)
		}
		for _, wrong := range []runtime.Reply{{Decision: "decline", Choice: choices[at]},
			{Decision: "accept", Choice: json.RawMessage(`"decline"`)}} {
			var refused *runtime.ReplyError
			if err := a.codex.CheckReply(ref(asked), wrong); !errors.As(err, &refused) || refused.Field != "choice" {
				t.Errorf("%s with %s: %v", wrong.Decision, wrong.Choice, err)
			}
		}
		return runtime.Reply{Decision: "accept", Choice: choices[at]}
	})
	a.say(command, nil)
	const another = "MOCK_CMD[git config --list --file /dev/zero]"
	a.say(another, func(asked runtime.Signal) runtime.Reply {
		words := asked.Change.(runtime.InteractiveRequested).Asked
		option, err := words.Chosen(runtime.Reply{Decision: "accept", Option: "acceptWithExecpolicyAmendment"})
		if err != nil || option.Scope != "session" || words.Subject != runtime.SubjectCommand ||
			!strings.Contains(string(words.Arguments), "/dev/zero") {
			t.Fatalf("codex asks %+v", words)
		}
		for _, wrong := range []runtime.Reply{{Decision: "decline", Option: option.ID}, {Decision: "accept", Option: "none"},
			{Decision: "accept", Option: option.ID, Choice: json.RawMessage(`"accept"`)}} {
			var refused *runtime.ReplyError
			if err := a.codex.CheckReply(ref(asked), wrong); !errors.As(err, &refused) || refused.Field != "option" {
				t.Errorf("%s with %s: %v", wrong.Decision, wrong.Option, err)
			}
		}
		for field, wrong := range map[string]runtime.Reply{
			"updatedInput": {Decision: "accept", UpdatedInput: json.RawMessage("{}")},
			"remember":     {Decision: "accept", Remember: json.RawMessage("{}")}} {
			var refused *runtime.ReplyError
			if err := a.codex.CheckReply(ref(asked), wrong); !errors.As(err, &refused) || refused.Field != field {
				t.Errorf("%s: %v", field, err)
			}
		}
		return runtime.Reply{Decision: "accept", Option: option.ID}
	})
	a.say(another, nil)
}
