package acp

import (
	"bytes"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
)

// OpenCode reports that a call is in progress, then requests approval; the two lines may arrive in either order. An
// unanswered request is open.
func TestACallInProgressAnswersNothing(t *testing.T) {
	t.Parallel()
	p := &player{t: t, profile: OpenCode()}
	var late *recorded
	for _, r := range recordings(t, OpenCode().Name)["approve"] {
		if late == nil && bytes.Contains(r.Out, []byte(`"in_progress"`)) {
			late = &r
			continue
		}
		p.play(r)
		if !bytes.Contains(r.Out, []byte(words.Permission)) {
			continue
		}
		p.play(*late)
		for _, signal := range p.signals {
			if _, resolved := signal.Change.(runtime.RequestResolved); resolved {
				t.Errorf("there was no answer, and the request is closed: %s", signal.Raw)
			}
		}
		return
	}
	t.Fatal("the recording asks for nothing")
}
