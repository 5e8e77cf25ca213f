package manager

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

func (k *kit) offered(sessionID string) string {
	k.t.Helper()
	k.flush()
	shown, err := k.Shown(k.t.Context(), sessionID)
	k.do(err)
	return shown.Activity.RetryableTurnID
}

func (k *kit) notRetryable(sessionID, turnID, reason string) {
	k.t.Helper()
	before, _ := k.fake.seen()
	_, err := k.Retry(k.t.Context(), sessionID, turnID, "")
	var refused *session.NotRetryableError
	if !errors.As(err, &refused) || refused.TurnID != turnID || !strings.Contains(refused.Reason, reason) {
		k.t.Errorf("tried again: %v, want %s", err, reason)
	}
	if after, _ := k.fake.seen(); len(after) != len(before) {
		k.t.Error("the runtime received it")
	}
}

// The service offers to retry a turn that was cut off before a tool ran, once and with its whole input. It never retries
// without a request.
func TestATurnThatWasCutOffIsTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		first, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "look", Images: []string{"data:image/png;base64,AAAA"},
			Effort: "high"}))
		k.do(err)
		steered, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "and nul \x00"}))
		k.do(err)
		if steered != first {
			t.Fatalf("%s is another turn", steered)
		}
		k.fake.item(s.ID, first, runtime.Item{ID: "u", Role: "user", Type: "userMessage"}, true)
		k.fake.item(s.ID, first, runtime.Item{ID: "r", Role: "system", Type: "reasoning"}, true)
		k.notRetryable(s.ID, first, "a turn runs")
		k = k.reopenKnown() // kill -9
		if sent, _ := k.fake.seen(); len(sent) != 0 || k.offered(s.ID) != first {
			t.Errorf("after the restart %q is offered, and the runtime received %+v", k.offered(s.ID), sent)
		}
		k.notRetryable(s.ID, "none", "no such turn")
		second, err := k.Retry(t.Context(), s.ID, first, "")
		k.do(err)
		sent, _ := k.fake.seen()
		if len(sent) != 1 || !sent[0].Alone || sent[0].Effort != "high" && sent[0].Effort != "" || second == first {
			t.Fatalf("the runtime received %+v", sent)
		}
		want := []string{`{"type":"text","text":"look"}`, `{"type":"image","url":"data:image/png;base64,AAAA"}`,
			`{"type":"text","text":"and nul \u0000"}`}
		for i, part := range sent[0].Input {
			if string(part) != want[i] || len(sent[0].Input) != len(want) {
				t.Errorf("part %d is %s", i, part)
			}
		}
		if k.offered(s.ID) != "" {
			t.Error("it is still offered while the next turn runs")
		}
		k.end(s.ID, second)
		k.notRetryable(s.ID, first, "not the last turn")
		k.notRetryable(s.ID, second, "not interrupted")
	})
}

// A turn that may have had an effect is not offered for retry: its tool ran, or was approved. A call without approval
// did not run.
func TestWhatIsNotTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		tool := runtime.Item{ID: "item", Role: "system", Type: "commandExecution"}
		ask := func(id, turn string) session.Request {
			k.fake.asked++
			k.fake.ask(id, turn, k.fake.asked, runtime.RequestApproval, "item/commandExecution/requestApproval", `{}`)
			return k.pending(id, runtime.RequestApproval)[0]
		}
		for name, c := range map[string]struct {
			happens func(id, turn string)
			reason  string
		}{
			"nothing": {func(string, string) {}, ""},
			"a tool":  {func(id, turn string) { k.fake.item(id, turn, tool, false) }, "a tool has run"},
			"an unknown kind of item": {func(id, turn string) {
				k.fake.item(id, turn, runtime.Item{ID: "x", Role: "system", Type: "hologram"}, true)
			}, "a tool has run"},
			"an approval without an answer": {func(id, turn string) { k.fake.item(id, turn, tool, false); ask(id, turn) }, ""},
			"an approval that was given": {func(id, turn string) {
				k.fake.item(id, turn, tool, false)
				_, err := k.Settle(t.Context(), ask(id, turn).ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "me")
				k.do(err)
				k.eventually("the answer is delivered", func() bool { _, answers := k.fake.seen(); return len(answers) > 0 })
				k.flush()
			}, "a tool has run"},
			"it was stopped": {func(id, turn string) { _, err := k.Interrupt(t.Context(), id, ""); k.do(err) },
				"was not cut off"},
			"it failed": {func(id, turn string) { k.fake.end(id, turn, runtime.TurnFailed) }, "its status is failed"},
		} {
			s := k.create()
			turn := k.send(s.ID)
			c.happens(s.ID, turn)
			k.fake.exited()
			k.flush()
			if offered := k.offered(s.ID); (offered == turn) != (c.reason == "") {
				t.Errorf("%s: %q is offered", name, offered)
			}
			k.fake.started(ids.New())
			if c.reason != "" {
				k.notRetryable(s.ID, turn, c.reason)
			} else if _, err := k.Retry(t.Context(), s.ID, turn, ""); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if raw, err := json.Marshal(
				k.number(`select count(*) from turns where input <> '' and status <> 'inProgress' and session_id = $1`,
					s.ID)); err != nil ||
				c.reason != "" && string(raw) != "0" {
				t.Errorf("%s: %s turns keep what they were asked, %v", name, raw, err)
			}
		}
	})
}
