package claude

import (
	"testing"
	"time"
)

// A turn counts as silent while it waits for the model, not for a user or a command.
func TestWatchedTurns(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		state
		watched, unresponsive bool
	}{
		"nothing runs":        {state{}, false, false},
		"the model":           {state{Turn: "t"}, true, true},
		"a message is queued": {state{Owed: "t"}, true, true},
		"a person is asked":   {state{Turn: "t", Asked: []asked{{ID: "a"}}}, true, false},
		"a command runs":      {state{Turn: "t", Tools: []toolCall{{ID: "c", Name: toolShell}}}, true, false},
		"a sub-agent":         {state{Turn: "t", Tools: []toolCall{{ID: "c", Name: "Agent"}}}, true, true},
	} {
		p := &protocol{state: c.state, lastOutput: long}
		turns := p.watched()
		if watched := len(turns) == 1; watched != c.watched || watched && turns[0].LastOutput.Equal(long) != c.unresponsive {
			t.Errorf("%s: %+v", name, turns)
		}
	}
}
