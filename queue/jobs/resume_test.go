package jobs_test

import (
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/queue/jobs"
)

// The runtime's answer to an instruction decides whether it is sent again: never if the runtime may have accepted it,
// and only as a separate turn.
func TestAnInstructionIsSentAgainOnlyWhenItWasNotTaken(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		for name, c := range map[string]struct {
			refuses []error
			state   queue.State
			reason  string
			sent    int
		}{
			"another turn runs": {[]error{runtime.ErrTurnActive, runtime.ErrTurnActive}, queue.Completed, "", 1},
			"its runtime takes no more": {
				[]error{&session.LimitError{Runtime: "codex", Limit: 1}, &session.LimitError{Runtime: "codex", Limit: 1}},
				queue.Completed, "", 1},
			"no answer, which may come late": {[]error{runtime.ErrTimeout}, queue.Failed, "outcome unknown", 0},
			"its process ended before":       {[]error{runtime.ErrUnavailable}, queue.Completed, "", 1},
		} {
			b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) { f.refuses = c.refuses })
			job := b.instruct(nil)
			sent := 0
			for _, message := range b.sessions.messages() {
				if strings.HasSuffix(message, "Do it.") {
					sent++
				}
			}
			if job.State != c.state || !strings.Contains(failure(job), c.reason) || sent != c.sent {
				t.Errorf("%s: %s %q, sent %d times", name, job.State, failure(job), sent)
			}
			for _, message := range b.sessions.instructions {
				if !message.Alone {
					t.Errorf("%s: %q may be steered", name, message.Text)
				}
			}
			b.stop()
		}
	})
}

// While the store is unreadable a job waits, whichever read of its turn fails. It neither abandons the turn nor
// requests it again.
func TestAJobWaitsForAStoreThatCannotBeRead(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		for name, refuses := range map[string][]error{"begun": nil, "not known to be begun": {runtime.ErrUnavailable}} {
			b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) { f.refuses, f.unreadable = refuses, 3 })
			job := b.instruct(object{"expectResponse": "assistant_text"})
			sent := 0
			for _, message := range b.sessions.messages() {
				if strings.HasSuffix(message, "Do it.") {
					sent++
				}
			}
			if job.State != queue.Completed || sent != 1 || b.sessions.interrupt != 0 {
				t.Errorf("%s: %s %q, sent %d times, interrupted %d", name, job.State, failure(job), sent, b.sessions.interrupt)
			}
			b.stop()
		}
	})
}
