package runtimetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// approves: a command waits for its approval and follows the decision. The model gets the reason of a refusal if the
// capabilities say so.
func approves(t *testing.T, s *scene) {
	for _, test := range []struct {
		reply runtime.Reply
		runs  bool
		ends  runtime.TurnStatus
	}{
		{runtime.Reply{Decision: "accept", Scope: "turn"}, true, runtime.TurnDone},
		{runtime.Reply{Decision: "accept", Scope: "session"}, true, runtime.TurnDone},
		{runtime.Reply{Decision: "decline", Message: "not on a Friday"}, false, runtime.TurnDone},
		{runtime.Reply{Decision: "cancel"}, false, runtime.TurnInterrupted},
	} {
		name := test.reply.Decision + test.reply.Scope
		file := filepath.Join(s.Dir, name)
		thread := s.open()
		turn := s.say(thread, s.Script.Command("touch "+file))
		asked := s.Asked(t, turn, runtime.RequestApproval)
		change := asked.Change.(runtime.InteractiveRequested)
		if change.Asked.Subject != runtime.SubjectCommand || !strings.Contains(string(change.Asked.Arguments), file) ||
			change.Summary == "" {
			t.Errorf("%s: asked %+v", name, change)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: it ran before it was allowed", name)
		}
		s.answer(asked, test.reply)
		if end := s.End(t, turn); end.Status != test.ends {
			t.Errorf("%s: the turn ended %+v", name, end)
		}
		if _, err := os.Stat(file); (err == nil) != test.runs {
			t.Errorf("%s: it ran: %t", name, err == nil)
		}
		if s.Prompted == nil || test.reply.Message == "" {
			continue
		}
		if reached := s.Prompted(test.reply.Message) != ""; reached != s.Capabilities().DenyReason {
			t.Errorf("%s: that the reason reached the model is %t", name, reached)
		}
	}
}
