package opencode

import (
	"testing"
	"time"
)

// A turn counts as silent while it waits for the model, not for a user or a command. Output of its sub-agents counts
// as its own.
func TestWatchedTurns(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		conversation
		unresponsive bool
	}{
		"the model":         {conversation{lastOutput: long}, true},
		"no reader yet":     {conversation{}, false},
		"a person is asked": {conversation{lastOutput: long, Asked: []asked{{ID: "a"}}}, false},
		"a command runs":    {conversation{lastOutput: long, Open: []item{{ID: "i", Tool: toolShell, Begun: true}}}, false},
		"another tool runs": {conversation{lastOutput: long, Open: []item{{ID: "i", Tool: "task", Begun: true}}}, true},
	} {
		c.Turn = "t"
		p := &protocol{state: state{Conversations: map[string]*conversation{"n": &c.conversation}}}
		if turns := p.watched(); len(turns) != 1 || turns[0].LastOutput.Equal(long) != c.unresponsive {
			t.Errorf("%s: %+v", name, turns)
		}
	}
	s := state{Conversations: map[string]*conversation{"ses_0": {Turn: "t", Children: []string{"ses_1"}, lastOutput: long}}}
	s.translate(eventLine(t, "message.part.updated", map[string]any{}), 5000, func(string) string { return "" })
	if lastOutput := s.Conversations["ses_0"].lastOutput; time.Since(lastOutput) > time.Minute {
		t.Errorf("after output of a sub-agent the last output was at %s", lastOutput)
	}
}
