package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/stream"
	"harness/tests/sessiontest"
)

// A question of this server about one of its tools is an approval like any other: shown, listed, and decided once,
// with a reason. It expires visibly once no caller waits for it.
func TestAToolOfTheServerIsAskedAbout(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		id := s.NewSession()
		frames := make(chan stream.Frame, 100)
		_, cancel := s.Journal.Subscribe(func(records []journal.Record) {
			for _, record := range records {
				shown, err := stream.Frames(record)
				if err != nil {
					t.Error(err)
				}
				for _, frame := range shown {
					if frame.Type == "approval" || frame.Type == "approval_resolved" {
						frames <- frame
					}
				}
			}
		})
		defer cancel()
		type outcome struct {
			answer session.ToolAnswer
			err    error
		}
		ask := func(ctx context.Context, call string) (session.Request, <-chan outcome) {
			t.Helper()
			done := make(chan outcome, 1)
			go func() {
				answer, err := s.AskAboutTool(ctx, session.ToolQuestion{SessionID: id, CallID: call, Tool: "workspace.write",
					Arguments: json.RawMessage(`{"path":"a"}`), Reason: "it writes"})
				done <- outcome{answer, err}
			}()
			asked := s.Asked(id)
			if asked.Summary != "Tool approval required: workspace.write" || asked.ItemID != call ||
				string(asked.Decisions) != `["accept","decline","cancel"]` ||
				string(asked.Asked.Arguments) != `{"path":"a"}` || asked.Asked.Tool != "workspace.write" {
				t.Errorf("asked is %+v", asked)
			}
			if frame := <-frames; frame.Type != "approval" || frame.ThreadID != id ||
				!strings.Contains(string(frame.Payload), asked.ID) {
				t.Errorf("shown is %s %s", frame.Type, frame.Payload)
			}
			return asked, done
		}
		resolved := func(words string) {
			t.Helper()
			if frame := <-frames; frame.Type != "approval_resolved" || !strings.Contains(string(frame.Payload), words) {
				t.Errorf("the end is shown as %s %s, want %s", frame.Type, frame.Payload, words)
			}
		}

		asked, done := ask(t.Context(), "one")
		for _, wrong := range []runtime.Reply{{Decision: "maybe"}, {Decision: "accept", Scope: "session"},
			{Decision: "accept", Option: "x"}, {Decision: "accept", UpdatedInput: json.RawMessage(`{}`)}} {
			var refused *runtime.ReplyError
			if _, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval, wrong, "ann"); !errors.As(err, &refused) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		if _, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval,
			runtime.Reply{Decision: "accept", Message: "go on"}, "ann"); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got.err != nil || got.answer != (session.ToolAnswer{Allow: true, Actor: "ann", Reason: "go on"}) {
			t.Errorf("accepted: %+v", got)
		}
		resolved(`"decision":"accept"`)
		var settled *session.SettledError
		if _, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval, runtime.Reply{Decision: "decline"},
			"bob"); !errors.As(err, &settled) || settled.Request.DecidedBy != "ann" {
			t.Errorf("decided again: %v", err)
		}

		asked, done = ask(t.Context(), "two")
		denied, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval,
			runtime.Reply{Decision: "decline", Message: "not on a Friday"}, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if denied.ReasonGiven() {
			t.Error("the agent would get the reason again with the next message")
		}
		if got := <-done; got.err != nil || got.answer != (session.ToolAnswer{Actor: "ann", Reason: "not on a Friday"}) {
			t.Errorf("declined: %+v", got)
		}
		resolved(`"message":"not on a Friday"`)

		ctx, giveUp := context.WithCancel(t.Context())
		asked, done = ask(ctx, "three")
		giveUp()
		if got := <-done; !errors.Is(got.err, context.Canceled) {
			t.Errorf("given up: %+v", got)
		}
		resolved(`"status":"expired"`)
		if _, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"},
			"ann"); !errors.As(err, &settled) || settled.Request.Status != session.RequestExpired {
			t.Errorf("decided late: %v", err)
		}
		if _, err := s.AskAboutTool(t.Context(), session.ToolQuestion{SessionID: "none", CallID: "four", Tool: "t",
			Arguments: json.RawMessage(`{}`)}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("of no session: %v", err)
		}
	})
}
