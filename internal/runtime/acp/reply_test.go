package acp

import (
	"encoding/json"
	"errors"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// A user's decision selects one of the agent's options, never one that lasts longer than the decision.
func TestRepliesInTheAgentsOptions(t *testing.T) {
	t.Parallel()
	r := New(Options{Profile: Gemini(), Setup: stdio.Setup{}})
	profile := Gemini()
	var offered []runtime.Option
	for _, o := range []option{{"proceed_always_and_save", "Always", "allow_always"},
		{"proceed_always", "Session", "allow_always"},
		{"proceed_once", "Once", "allow_once"}, {"cancel", "No", "reject_once"}} {
		offered = append(offered, o.neutral(&profile))
	}
	selected := func(id string) string { return `{"outcome":{"optionId":"` + id + `","outcome":"selected"}}` }
	for _, test := range []struct {
		reply   runtime.Reply
		options []runtime.Option
		want    string // "" for a refusal
	}{
		{runtime.Reply{Decision: "accept", Scope: "turn"}, offered, selected("proceed_once")},
		{runtime.Reply{Decision: "accept", Scope: "session"}, offered, selected("proceed_always")},
		{runtime.Reply{Decision: "accept", Scope: "session"}, offered[2:], selected("proceed_once")},
		{runtime.Reply{Decision: "accept"}, offered[:2], ""},
		{runtime.Reply{Decision: "accept", Option: "proceed_always_and_save"}, offered, selected("proceed_always_and_save")},
		{runtime.Reply{Decision: "decline", Option: "proceed_once"}, offered, ""},
		{runtime.Reply{Decision: "accept", Option: "no such"}, offered, ""},
		{runtime.Reply{Decision: "decline", Message: "why"}, offered, selected("cancel")},
		{runtime.Reply{Decision: "decline"}, offered[:3], `{"outcome":{"outcome":"cancelled"}}`},
		{runtime.Reply{Decision: "cancel"}, offered, `{"outcome":{"outcome":"cancelled"}}`},
		{runtime.Reply{Refusal: "no one"}, offered, `{"outcome":{"outcome":"cancelled"}}`},
		{runtime.Reply{Decision: "perhaps"}, offered, ""},
		{runtime.Reply{Decision: "accept", UpdatedInput: json.RawMessage(`{}`)}, offered, ""},
		{runtime.Reply{Decision: "accept", Raw: json.RawMessage(`{}`)}, offered, ""},
	} {
		ref := runtime.RequestRef{Kind: runtime.RequestApproval, Asked: runtime.Asked{Options: test.options}}
		requireResult(t, r, ref, test.reply, test.want)
	}
}

func requireResult(t *testing.T, r *Runtime, ref runtime.RequestRef, reply runtime.Reply, want string) {
	t.Helper()
	got, err := r.result(ref, reply)
	var refused *runtime.ReplyError
	if want == "" && !errors.As(err, &refused) || want != "" && (err != nil || string(got) != want) {
		t.Errorf("%+v comes to %s (%v), not %s", reply, got, err, want)
	}
}

// The answers to a form's questions fill in the form according to its schema.
func TestRepliesToForms(t *testing.T) {
	t.Parallel()
	r := New(Options{Profile: ClaudeBridge(), Setup: stdio.Setup{}})
	ref := runtime.RequestRef{Kind: runtime.RequestToolInput, Asked: runtime.Asked{Context: json.RawMessage(
		`{"type":"object","required":["size"],"properties":{"size":{"type":"integer"},"base":{"type":"string",` +
			`"oneOf":[{"const":"pg","title":"Postgres"}]}}}`)}}
	for _, test := range []struct {
		reply runtime.Reply
		want  string
	}{
		{runtime.Reply{Answers: json.RawMessage(`{"size":{"answers":["7"]},"base":{"answers":["Postgres"]}}`)},
			`{"action":"accept","content":{"base":"pg","size":7}}`},
		{runtime.Reply{Decision: "accept", Answers: json.RawMessage(`{"base":{"answers":["pg"]}}`)}, ""},
		{runtime.Reply{Decision: "accept", Answers: json.RawMessage(`{"size":{"answers":["big"]}}`)}, ""},
		{runtime.Reply{Decision: "decline"}, `{"action":"decline"}`},
		{runtime.Reply{Decision: "cancel"}, `{"action":"cancel"}`},
	} {
		requireResult(t, r, ref, test.reply, test.want)
	}
}
