package manager

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
	"harness/transcript"
)

func TestTurnThatEndsBeforeItsReply(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			k.fake.begin(in.ThreadID, turnID)
			k.fake.end(in.ThreadID, turnID, runtime.TurnDone)
			return runtime.StartedTurn{TurnID: turnID}, nil
		}
		turnID := k.send(s.ID)
		if active := k.index.ActiveTurn(s.ID); active != "" {
			t.Errorf("turn %s is still active", active)
		}
		if turn := k.turn(s.ID, turnID); turn.Status != runtime.TurnDone || turn.CompletedAt == 0 || turn.StartedAt == 0 {
			t.Errorf("stored %+v", turn)
		}
		if _, err := k.Interrupt(t.Context(), s.ID, ""); !errors.Is(err, session.ErrNoActiveTurn) {
			t.Errorf("interrupt after the end: %v", err)
		}
		k.send(s.ID)
		if turns, _ := k.fake.seen(); turns[1].ActiveTurnID != "" {
			t.Errorf("the next message was steered into %s", turns[1].ActiveTurnID)
		}
	})
}

func TestSecondMessageSteers(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		first, second := k.send(s.ID), k.send(s.ID)
		turns, _ := k.fake.seen()
		if first != second || turns[1].ActiveTurnID != first {
			t.Errorf("turns %s and %s, steered into %q", first, second, turns[1].ActiveTurnID)
		}
		if _, err := k.Interrupt(t.Context(), s.ID, "other"); !errors.Is(err, session.ErrWrongTurn) {
			t.Errorf("interrupt of another turn: %v", err)
		}
		if interrupted, err := k.Interrupt(t.Context(), s.ID, ""); err != nil || interrupted != first {
			t.Errorf("interrupted %q, %v", interrupted, err)
		}
		if turn := k.turn(s.ID, first); turn.Status != runtime.TurnInterrupted {
			t.Errorf("stored %+v", turn)
		}
		if _, err := k.Interrupt(t.Context(), ids.New(), ""); !errors.Is(err, session.ErrNoActiveTurn) {
			t.Errorf("interrupt of an unknown session: %v", err)
		}
	})
}

func TestMessagesAtOnceMakeOneTurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		ids := make([]string, 16)
		var wait sync.WaitGroup
		for i := range ids {
			wait.Go(func() {
				id, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "hi"}))
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			})
		}
		wait.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("turns %v", ids)
			}
		}
	})
}

func TestLateItemsAndUnknownTurns(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.item(s.ID, turnID, runtime.Item{ID: "a", Role: "assistant", Type: "agentMessage"}, false)
		k.fake.end(s.ID, turnID, runtime.TurnDone)
		k.fake.item(s.ID, turnID, runtime.Item{ID: "a", Role: "assistant", Type: "agentMessage", Content: "late",
			CompletedAt: 7}, true)
		k.fake.item(s.ID, turnID, runtime.Item{ID: "c", Role: "system", Type: "commandExecution", Content: "c",
			Details: "{}"}, true)
		entries := k.stored(s.ID)
		if len(entries) != 2 || entries[0].Content != "late" || entries[0].Status != transcript.Complete ||
			*entries[1].Details != "{}" {
			t.Errorf("stored %+v", entries)
		}
		if n := len(k.events("transcript_updated")); n != 0 {
			t.Errorf("items were announced %d times as transcript_updated", n)
		}

		k.fake.end(s.ID, "never-started", runtime.TurnFailed)
		if turn := k.turn(s.ID, "never-started"); turn.Status != runtime.TurnFailed {
			t.Errorf("stored %+v", turn)
		}
	})
}

// A message's options become the session's controls, except the effort; its turn runs with them.
func TestMessageOptionsAreKept(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		model, policy := "m", "never"
		_, err := k.Send(t.Context(), s.ID, session.Message{Input: []json.RawMessage{[]byte(`{"type":"image"}`)}, Text: "a<b",
			Model: &model, ApprovalPolicy: &policy, Effort: "low"})
		k.do(err)
		k.send(s.ID)
		turns, _ := k.fake.seen()
		if got := turns[0]; got.Model != "m" || got.ApprovalPolicy != "never" || got.Effort != "low" ||
			got.Sandbox != "read-only" ||
			got.Cwd != "/repo" || string(got.Input[0]) != `{"type":"text","text":"a<b"}` || len(got.Input) != 2 {
			t.Errorf("first turn ran with %+v", got)
		}
		if got := turns[1]; got.Model != "m" || got.ApprovalPolicy != "never" || got.Effort != "" {
			t.Errorf("second turn ran with %+v", got)
		}
		again, err := k.reopen().Lookup(t.Context(), s.ID)
		if err != nil || *again.Controls.Model != "m" || again.Controls.ApprovalPolicy != "never" ||
			again.Controls.Settings == nil {
			t.Errorf("after a restart: %+v, %v", again.Controls, err)
		}
	})
}

// A signal without a turn belongs to the running one; it has the session's title and project at that time.
func TestMetaOfSignals(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.notify(s.ID, "", "thread/status/changed", nil)
		k.fake.end(s.ID, turnID, runtime.TurnDone)
		k.fake.notify(s.ID, "", "serverRequest/resolved", nil)
		k.fake.notify("", "", "account/rateLimits/updated", nil)
		k.fake.notify(s.ID, "", "thread/name/updated", runtime.ThreadNamed{Name: "Named"})
		k.fake.notify(s.ID, "", "thread/started", nil) // received late
		var notes []stream.Meta
		var broadcasts int
		for _, record := range k.events(stream.EventNotification) {
			notes = append(notes, metaOf(t, record))
			if record.Broadcast {
				broadcasts++
			}
		}
		// thread/started, the name, turn/started, then the signals above.
		for _, begun := range []stream.Meta{notes[0], notes[8]} {
			if ref := begun.Session; ref == nil || ref.ID != s.ID || ref.Title != "" {
				t.Errorf("thread/started names %+v", ref)
			}
		}
		for i, want := range []struct{ turn, title string }{{"", session.NewChatTitle}, {turnID, session.NewChatTitle},
			{turnID, session.NewChatTitle}, {turnID, session.NewChatTitle}, {"", session.NewChatTitle}} {
			if got := notes[i+1]; got.TurnID != want.turn || got.Session.Title != want.title || got.ReceivedAt == 0 {
				t.Errorf("notification %d: %+v %+v, want %+v", i+1, got, got.Session, want)
			}
		}
		if notes[6].Session != nil || broadcasts != 1 {
			t.Errorf("global signal: %+v, %d broadcasts", notes[6], broadcasts)
		}
		if notes[7].Session.Title != "Named" {
			t.Errorf("naming signal names %q", notes[7].Session.Title)
		}
		if got, err := k.Lookup(t.Context(), s.ID); err != nil || got.Title != "Named" {
			t.Errorf("stored title %q, %v", got.Title, err)
		}
	})
}

// If a process dies after it accepts the message and before the turn is stored, no turn stays running.
func TestProcessEndsBeforeReplyIsStored(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.onTurn = func(_ runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			k.fake.exited()
			return runtime.StartedTurn{TurnID: turnID}, nil
		}
		turnID := k.send(s.ID)
		if turn := k.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted {
			t.Errorf("stored %+v", turn)
		}
		if k.index.ActiveTurn(s.ID) != "" {
			t.Error("the turn counts as running")
		}
		frames := 0
		for _, record := range k.events(stream.EventNotification) {
			if record.TurnID == turnID && strings.Contains(string(record.Payload), wire.MethodTurnCompleted) {
				frames++
			}
		}
		if frames != 1 {
			t.Errorf("its end was published %d times", frames)
		}
	})
}
