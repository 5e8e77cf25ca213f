package codex_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/codextest"
)

func TestMessageIsStreamedInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_REASON MOCK_REPLY[Grüße aus dem Modell <&>]")
		done := b.completed(t, turn)
		if done.Status != runtime.TurnDone || done.Error != "" {
			t.Errorf("turn ended %+v", done)
		}
		var order []string
		var streamed strings.Builder
		for _, s := range b.all() {
			if s.Kind == runtime.SignalStarted {
				order = append(order, "up")
			}
			if s.ThreadID == "" || s.TurnID != turn {
				continue
			}
			if s.ThreadID != thread || s.Generation == "" || s.ReceivedAt.IsZero() || !json.Valid(s.Raw) {
				t.Errorf("signal is incomplete: %+v", s)
			}
			switch change := s.Change.(type) {
			case runtime.TurnStarted:
				order = append(order, "turn")
			case runtime.TurnCompleted:
				order = append(order, "end")
			case runtime.ItemChanged:
				if change.Done {
					order = append(order, change.Item.Type+" "+change.Item.Role+" "+change.Item.Content)
				}
			}
			if s.Method == "item/agentMessage/delta" {
				var p struct{ Delta string }
				if err := json.Unmarshal(s.Params, &p); err != nil {
					t.Error(err)
				}
				streamed.WriteString(p.Delta)
			}
		}
		const reply = "Grüße aus dem Modell <&>"
		want := []string{
			"up", "turn", "userMessage user MOCK_REASON MOCK_REPLY[" + reply + "]", "reasoning system Reasoning update",
			"agentMessage assistant " + reply, "end",
		}
		if version == codextest.Oldest && len(order) > 2 && order[2] == "turn" {
			// Version 0.101 may announce the turn after its user message.
			order[1], order[2] = order[2], order[1]
		}
		if strings.Join(order, "|") != strings.Join(want, "|") {
			t.Errorf("got  %q\nwant %q", order, want)
		}
		if streamed.String() != reply {
			t.Errorf("deltas add up to %q", streamed.String())
		}

		read, err := b.codex.ReadThread(t.Context(), thread, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(read.Turns) != 1 || read.Turns[0].ID != turn && version == codextest.Default || len(read.Turns[0].Items) != 3 {
			t.Errorf("stored thread: %+v", read)
		}
		if read.CreatedAt < 1e12 || read.Cwd != b.cwd || !json.Valid(read.Raw) {
			t.Errorf("stored thread: %+v", read)
		}
	})
}

func TestCommandApproval(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		for _, test := range []struct {
			decision, scope string
			runs            bool
			status          runtime.TurnStatus
		}{
			{"accept", "turn", true, runtime.TurnDone},
			{"accept", "session", true, runtime.TurnDone},
			{"decline", "", false, runtime.TurnDone},
			{"cancel", "", false, runtime.TurnInterrupted},
		} {
			file := filepath.Join(b.cwd, test.decision+test.scope)
			thread := b.thread(t, runtime.StartThread{})
			turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_CMD[touch "+file+"; echo made]")
			asked := b.requested(t, thread)
			change := asked.Change.(runtime.InteractiveRequested)
			if change.Kind != runtime.RequestApproval || !strings.HasPrefix(change.Summary, "Command approval required: ") ||
				!strings.Contains(change.Summary, file) || asked.TurnID != turn || asked.ItemID == "" {
				t.Errorf("request is %+v", asked)
			}
			if _, err := os.Stat(file); err == nil {
				t.Errorf("%s: the command ran before it was approved", test.decision)
			}
			b.answer(t, asked, runtime.Reply{Decision: test.decision, Scope: test.scope})
			if err := b.codex.Answer(t.Context(), ref(asked), runtime.Reply{Decision: "accept"}); !errors.Is(err,
				runtime.ErrRequestGone) {
				t.Errorf("second answer: %v", err)
			}
			done := b.completed(t, turn)
			if done.Status != test.status {
				t.Errorf("%s: turn ended %+v", test.decision, done)
			}
			if _, err := os.Stat(file); (err == nil) != test.runs {
				t.Errorf("%s: command ran is %v", test.decision, err == nil)
			}
			if test.runs {
				item := b.item(t, turn, "commandExecution")
				if !strings.HasPrefix(item.Content, "Command execution completed: ") ||
					!strings.Contains(item.Details, "\n  \"command\": ") {
					t.Errorf("item is %+v", item)
				}
				b.output(t, "made")
			}
			if version == codextest.Default {
				b.wait(t, "resolution", func(s runtime.Signal) bool {
					resolved, ok := s.Change.(runtime.RequestResolved)
					return ok && s.ThreadID == thread && string(resolved.RequestID) == string(asked.RequestID)
				})
			}
		}
	})
}

func TestFileChangeApproval(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		for decision, want := range map[string]bool{"accept": true, "decline": false} {
			file := filepath.Join(b.cwd, decision+".txt")
			thread := b.thread(t, runtime.StartThread{})
			turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_PATCH["+file+"]")
			asked := b.requested(t, thread)
			if change := asked.Change.(runtime.InteractiveRequested); change.Summary != "File change approval required" ||
				asked.Method != "item/fileChange/requestApproval" {
				t.Errorf("request is %+v", asked)
			}
			b.answer(t, asked, runtime.Reply{Decision: decision})
			b.completed(t, turn)
			content, err := os.ReadFile(file)
			if (err == nil) != want || want && string(content) != "hello from mock\n" {
				t.Errorf("%s: file is %q, %v", decision, content, err)
			}
			status := map[bool]string{true: "completed", false: "declined"}[want]
			if item := b.item(t, turn, "fileChange"); item.Content != "File change "+status+": 1 change" {
				t.Errorf("item is %+v", item)
			}
		}
	})
}

func TestDynamicTool(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		tools := json.RawMessage(
			`[{"type":"function","name":"lookup_ticket","description":"d","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}]`)
		thread := b.thread(t, runtime.StartThread{DynamicTools: tools})
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`)
		asked := b.requested(t, thread)
		if change := asked.Change.(runtime.InteractiveRequested); change.Kind != runtime.RequestToolCall ||
			change.Summary != "Tool call requested: lookup_ticket" || asked.ItemID == "" {
			t.Errorf("request is %+v", asked)
		}
		b.answer(t, asked,
			runtime.Reply{Success: true, ContentItems: json.RawMessage(`[{"type":"inputText","text":"ticket is open"}]`)})
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Errorf("turn ended %+v", done)
		}
		b.output(t, "ticket is open")

		// A refusal does not fail the turn.
		turn = b.turn(t, runtime.StartTurn{ThreadID: thread}, `MOCK_CALL[lookup_ticket|{"id":"T-2"}]END`)
		asked = b.wait(t, "second call", func(s runtime.Signal) bool {
			return s.Kind == runtime.SignalRequest && s.TurnID == turn
		})
		b.answer(t, asked, runtime.Reply{Refusal: "no such tool here"})
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Errorf("refused: turn ended %+v", done)
		}
	})
}

// Why a conversation gets its tools only at its start: codex ignores them later.
func TestToolsComeTooLateForAConversation(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "hi"))
		_, err := b.codex.Call(t.Context(), "thread/resume",
			json.RawMessage(`{"threadId":"`+thread+`","dynamicTools":[{"type":"function",
			"name":"lookup_ticket","description":"d","inputSchema":{"type":"object","properties":{}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, `MOCK_CALL[lookup_ticket|{}]END`))
		b.output(t, "unsupported call: lookup_ticket")
	})
}

func TestUserInput(t *testing.T) {
	t.Parallel()
	b := setup(t, codextest.Default)
	thread := b.thread(t, runtime.StartThread{})
	turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_ASK")
	asked := b.requested(t, thread)
	if change := asked.Change.(runtime.InteractiveRequested); change.Kind != runtime.RequestToolInput ||
		change.Summary != "Tool input required (1 question)" {
		t.Errorf("request is %+v", asked)
	}
	b.answer(t, asked, runtime.Reply{Decision: "accept", Answers: json.RawMessage(`{"q1":{"answers":["B it is"]}}`)})
	if done := b.completed(t, turn); done.Status != runtime.TurnDone {
		t.Errorf("turn ended %+v", done)
	}
	b.output(t, "B it is")

	// A declined question is not a valid answer for codex; the turn continues.
	turn = b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_ASK")
	asked = b.wait(t, "second question", func(s runtime.Signal) bool {
		return s.Kind == runtime.SignalRequest && s.TurnID == turn
	})
	b.answer(t, asked, runtime.Reply{Decision: "decline"})
	if done := b.completed(t, turn); done.Status != runtime.TurnDone {
		t.Errorf("declined: turn ended %+v", done)
	}
}

func TestInterrupt(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_HOLD[h]")
		if err := b.model.WaitHeld(t.Context(), "h"); err != nil {
			t.Fatal(err)
		}
		if err := b.codex.InterruptTurn(t.Context(), thread, turn); err != nil {
			t.Fatal(err)
		}
		if done := b.completed(t, turn); done.Status != runtime.TurnInterrupted {
			t.Errorf("turn ended %+v", done)
		}
		if version == codextest.Default {
			if err := b.codex.InterruptTurn(t.Context(), thread, turn); !errors.Is(err, runtime.ErrNoActiveTurn) {
				t.Errorf("second interrupt: %v", err)
			}
		}
		// The conversation continues.
		turn = b.turn(t, runtime.StartTurn{ThreadID: thread}, "Reply with exactly fine")
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Errorf("next turn ended %+v", done)
		}
	})
}

func TestModelErrorFailsTheTurn(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_HTTP_400")
		if done := b.completed(t, turn); done.Status != runtime.TurnFailed || !strings.Contains(done.Error, "fails as asked") {
			t.Errorf("turn ended %+v", done)
		}
		turn = b.turn(t, runtime.StartTurn{ThreadID: thread}, "again")
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Errorf("next turn ended %+v", done)
		}
	})
}

// A second message during a turn joins that turn, even if the caller did not know of the turn.
func TestBusyMessageSteers(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_HOLD[a]")
		if err := b.model.WaitHeld(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		for i, active := range []string{turn, "", "01a1fbb8-c2da-7e63-acae-680bdab083fd"} {
			said := "MOCK_HOLD[b" + string(rune('0'+i)) + "]"
			got, err := b.codex.StartTurn(t.Context(),
				runtime.StartTurn{ThreadID: thread, ActiveTurnID: active, Input: text(said)})
			if err != nil || !got.Steered || got.TurnID != turn {
				t.Fatalf("steering with %q: %+v, %v", active, got, err)
			}
			if version == codextest.Oldest {
				// codex accepts steered input when the open model answer ends.
				continue
			}
			b.wait(t, "user message "+said, func(s runtime.Signal) bool {
				item, ok := s.Change.(runtime.ItemChanged)
				return ok && item.TurnID == turn && item.Item.Content == said
			})
		}
		b.model.Release("a")
		for _, name := range []string{"b0", "b1", "b2"} {
			b.model.Release(name)
		}
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Errorf("turn ended %+v", done)
		}
		// The turn that the caller names is over: a new one starts.
		got, err := b.codex.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread, ActiveTurnID: turn, Input: text("hi")})
		if err != nil || got.Steered || got.TurnID == turn {
			t.Fatalf("after the end: %+v, %v", got, err)
		}
		b.completed(t, got.TurnID)
	})
}
