package manager

import (
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/transcript"
)

// A turn that cannot reach its model shows that in one entry, which each attempt updates. The session's last error
// shows it until the model answers.
func TestRetriesAreOneEntry(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		attempt := func(number, of int, reason string) {
			k.fake.notify(s.ID, turn, "error", runtime.TurnRetrying{TurnID: turn, Attempt: number, Of: of, Reason: reason,
				Remedy: "Check the network."})
		}
		attempt(1, 5, "refused")
		attempt(2, 5, "timed out")
		k.retries(s.ID, turn, transcript.Failed, "The model does not answer (attempt 2 of 5): timed out\n\nCheck the network.")
		if details := *k.stored(s.ID)[0].Details; !strings.Contains(details, `"attempt": 2`) ||
			!strings.Contains(details, `"of": 5`) || !strings.Contains(details, `"reason": "timed out"`) ||
			!strings.Contains(details, `"remedy": "Check the network."`) {
			t.Errorf("its details are %s", details)
		}
		if published := len(k.events(session.EventTranscriptUpdated)); published != 2 {
			t.Errorf("clients received it %d times", published)
		}
		k.close() // a killed server whose runtime survives
		k = open(t, k.db, k.opts.NodeID, k.fake.generation)
		k.fake.notify(s.ID, turn, "item/started", runtime.ItemChanged{TurnID: turn,
			Item: runtime.Item{ID: "answer", Role: "assistant", Type: wire.ItemAgentMessage}})
		k.retries(s.ID, turn, transcript.Complete, "The model answered after attempt 2 of 5. Before, it failed: timed out")
		k.fake.notify(s.ID, turn, "error", runtime.TurnRetrying{TurnID: turn, Reason: "cut"}) // an attempt without a number
		k.retries(s.ID, turn, transcript.Failed, "The model does not answer (attempt 3): cut\n\n")
		k.fake.end(s.ID, turn, runtime.TurnInterrupted)
		k.retries(s.ID, turn, transcript.Canceled, "The model does not answer (attempt 3): cut")
	})
}

// retries checks the entry of a turn's retries. It also checks that the session's last error shows them while the
// model does not answer.
func (k *kit) retries(sess, turn string, status transcript.Status, content string) {
	k.t.Helper()
	entries := slices.DeleteFunc(k.stored(sess), func(e transcript.Entry) bool { return e.Type != retryEntry })
	if len(entries) != 1 || entries[0].Status != status || entries[0].Content != content || entries[0].TurnID != turn {
		k.t.Errorf("the retries are %s, want %s %q", encode(entries), status, content)
	}
	page, err := k.List(k.t.Context(), session.ListQuery{})
	k.do(err)
	said := page.Sessions[0].Activity.LastError
	if status == transcript.Failed && (said == nil || *said != session.TurnError{TurnID: turn, Message: content}) ||
		status != transcript.Failed && said != nil {
		k.t.Errorf("the last error is %s", encode(said))
	}
}

// A turn that fails after all its attempts leaves their entry as it was, without the announcement of further attempts.
func TestRetriesOfATurnThatFails(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		k.fake.notify(s.ID, turn, "error", runtime.TurnRetrying{TurnID: turn, Attempt: 5, Of: 5, Reason: "refused",
			Remedy: "Wait."})
		k.fake.notify(s.ID, turn, "turn/completed", runtime.TurnCompleted{TurnID: turn, Status: runtime.TurnFailed,
			Error: "gave up"})
		entries := k.stored(s.ID)
		if len(entries) != 2 || entries[0].Content != "The model does not answer (attempt 5 of 5): refused" ||
			entries[1].MessageID != session.TurnErrorPrefix+turn {
			t.Errorf("the transcript is %s", encode(entries))
		}
		page, err := k.List(t.Context(), session.ListQuery{})
		k.do(err)
		if said := page.Sessions[0].Activity.LastError; said == nil || !strings.HasPrefix(said.Message, "gave up") {
			t.Errorf("the last error is %s", encode(said))
		}
	})
}
