package opencode

import (
	"testing"
	"time"
)

// A turn is silent when the model is waited for, not a person or a command; what its sub-agents say is said in it.
func TestWhoIsSilent(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		talk
		silent bool
	}{
		"the model":         {talk{heard: long}, true},
		"nobody listened":   {talk{}, false},
		"a person is asked": {talk{heard: long, Asked: []asked{{ID: "a"}}}, false},
		"a command runs":    {talk{heard: long, Open: []item{{ID: "i", Tool: toolShell, Begun: true}}}, false},
		"another tool runs": {talk{heard: long, Open: []item{{ID: "i", Tool: "task", Begun: true}}}, true},
	} {
		c.Turn = "t"
		p := &protocol{state: state{Talks: map[string]*talk{"n": &c.talk}}}
		if turns := p.watched(); len(turns) != 1 || turns[0].LastOutput.Equal(long) != c.silent {
			t.Errorf("%s: %+v", name, turns)
		}
	}
	s := state{Talks: map[string]*talk{"ses_0": {Turn: "t", Children: []string{"ses_1"}, heard: long}}}
	s.translate(toldLine(t, "message.part.updated", map[string]any{}), 5000, func(string) string { return "" })
	if heard := s.Talks["ses_0"].heard; time.Since(heard) > time.Minute {
		t.Errorf("after words of a sub-agent it was heard at %s", heard)
	}
}
