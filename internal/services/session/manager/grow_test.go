package manager

import (
	"context"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

var wholeWindow = session.Reading{Window: &transcript.Window{Limit: 100}}

// both reads a session in full and by a window. The results must be equal; it returns the entries by message id.
func (k *kit) both(sessionID string) map[string]transcript.Entry {
	k.t.Helper()
	whole, window := k.read(sessionID, session.Reading{}), k.read(sessionID, wholeWindow)
	if a, b := string(encode(whole.Transcript)), string(encode(window.Transcript)); a != b {
		k.t.Errorf("the whole is\n%s, the window\n%s", a, b)
	}
	if whole.Pos != window.Pos || whole.Pos%16 != 15 {
		k.t.Errorf("true at %d and %d", whole.Pos, window.Pos)
	}
	entries := map[string]transcript.Entry{}
	for _, entry := range whole.Transcript {
		entries[entry.MessageID] = entry
	}
	return entries
}

func details(e transcript.Entry) string {
	if e.Details == nil {
		return ""
	}
	return strings.Join(strings.Fields(*e.Details), "")
}

// A reader in mid-turn sees each text so far, in the field where the finished item will have it. A character that is
// split between two deltas is complete. The entries themselves are not written until the item ends.
func TestAReaderInMidTurnSeesTheTextsSoFar(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := &speaker{fake: k.fake}
		s := k.create()
		turn := k.send(s.ID)
		k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage"}, false)
		k.fake.item(s.ID, turn, runtime.Item{ID: "r", Role: "system", Type: "reasoning", Content: "Reasoning update",
			Details: `{"type":"reasoning","summary":[]}`}, false)
		k.fake.item(s.ID, turn, runtime.Item{ID: "c", Role: "system", Type: "commandExecution", Content: "Command",
			Details: `{"id":"c","aggregatedOutput":null}`}, false)
		p.say(s.ID, turn, "m", "text", "Hello \"wor")
		p.say(s.ID, turn, "r", "summary", "because")
		k.flush()
		p.say(s.ID, turn, "m", "text", "ld\" \x00é😀")
		p.say(s.ID, turn, "c", "output", "line 1\n")
		p.say(s.ID, turn, "c", "output", "line 2\n")
		p.say(s.ID, turn, "c", "none", "this shows nowhere")
		got := k.both(s.ID)
		if m := got["m"]; m.Content != "Hello \"world\" \x00é😀" || m.Status != transcript.Streaming {
			t.Errorf("the answer so far: %q %s", m.Content, m.Status)
		}
		if r := got["r"]; r.Content != "Reasoning update" || details(r) != `{"type":"reasoning","summary":["","because"]}` {
			t.Errorf("the reasoning so far: %q %s", r.Content, details(r))
		}
		if c := got["c"]; details(c) != `{"id":"c","aggregatedOutput":"line1\nline2\n"}` {
			t.Errorf("the output so far: %s", details(c))
		}
		for _, entry := range k.stored(s.ID) {
			if entry.MessageID == "m" && entry.Content != "" {
				t.Errorf("deltas are written to the entry: %q", entry.Content)
			}
		}

		// The item starts again, and so does its text. Then it ends, and has the text of its end.
		k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage"}, false)
		p.say(s.ID, turn, "m", "text", "again")
		if m := k.both(s.ID)["m"]; m.Content != "again" {
			t.Errorf("after the restart of the item: %q", m.Content)
		}
		k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage", Content: "whole"}, true)
		if m := k.both(s.ID)["m"]; m.Content != "whole" || m.Status != transcript.Complete {
			t.Errorf("after its end: %q %s", m.Content, m.Status)
		}
	})
}

// However a turn is cut off, its answer keeps its text so far, is canceled, and stays canceled. That also holds if
// text and end reach the store together.
func TestAnInterruptedAnswerKeepsItsText(t *testing.T) {
	for name, cut := range map[string]func(k *kit, session, turn string) *kit{
		"interrupted": func(k *kit, session, turn string) *kit {
			k.fake.end(session, turn, runtime.TurnInterrupted)
			return k
		},
		"failed":  func(k *kit, session, turn string) *kit { k.fake.end(session, turn, runtime.TurnFailed); return k },
		"runtime": func(k *kit, _, _ string) *kit { k.fake.exited(); return k },
		"server":  func(k *kit, _, _ string) *kit { return k.reopen() },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				p := &speaker{fake: k.fake}
				s := k.create()
				turn := k.send(s.ID)
				k.fake.item(s.ID, turn, runtime.Item{ID: "done", Role: "assistant", Type: "agentMessage", Content: "done"}, true)
				k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage"}, false)
				k.fake.item(s.ID, turn, runtime.Item{ID: "c", Role: "system", Type: "commandExecution", Content: "Command"}, false)
				p.say(s.ID, turn, "m", "text", "half of ")
				k.flush()
				released := k.hold() // the rest of the text and the end are stored in one transaction
				p.say(s.ID, turn, "m", "text", "an answer")
				if name == "server" {
					released()
				}
				k = cut(k, s.ID, turn)
				released()
				got := k.both(s.ID)
				if m := got["m"]; m.Content != "half of an answer" || m.Status != transcript.Canceled || m.CompletedAt == nil {
					t.Errorf("the answer is %q %s", m.Content, m.Status)
				}
				if c := got["c"]; c.Status != transcript.Canceled {
					t.Errorf("what ran beside it is %s", c.Status)
				}
				if done := got["done"]; done.Status != transcript.Complete || done.Content != "done" {
					t.Errorf("what was done is %q %s", done.Content, done.Status)
				}
				for _, entry := range k.stored(s.ID) {
					if entry.MessageID == "m" && (entry.Content != "half of an answer" || entry.Status != transcript.Canceled) {
						t.Errorf("stored as %q %s: the journal may be pruned", entry.Content, entry.Status)
					}
				}
				if left, err := store.RunningItemsOfNode(t.Context(), k.db.Read(), "node"); err != nil || len(left) != 0 {
					t.Errorf("still taken for running: %v (%v)", left, err)
				}
			})
		})
	}
}

// hold blocks the journal's writer until released, so that everything submitted until then is one transaction.
func (k *kit) hold() (release func()) {
	k.t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	first := true
	err := k.log.Submit(context.Background(), func(context.Context, database.Tx) ([]journal.Event, error) {
		if first {
			first = false
			close(busy)
		}
		<-free
		return nil, nil
	}, func([]journal.Record, error) {})
	k.do(err)
	<-busy
	done := false
	return func() {
		if !done {
			done = true
			close(free)
		}
	}
}

// A command that an interrupted turn leaves running is shown as canceled. Until it ends, its further output belongs to
// it.
func TestWhatAnInterruptedTurnLeavesRunningGoesOn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := &speaker{fake: k.fake}
		s := k.create()
		turn := k.send(s.ID)
		command := runtime.Item{ID: "c", Role: "system", Type: "commandExecution", Details: `{"aggregatedOutput":null}`,
			Outlives: true}
		k.fake.item(s.ID, turn, command, false)
		p.say(s.ID, turn, "c", "output", "before,")
		k.fake.end(s.ID, turn, runtime.TurnInterrupted)
		if c := k.both(s.ID)["c"]; details(c) != `{"aggregatedOutput":"before,"}` || c.Status != transcript.Canceled {
			t.Errorf("after the turn: %s %s", details(c), c.Status)
		}
		p.say(s.ID, turn, "c", "output", "after")
		if c := k.both(s.ID)["c"]; details(c) != `{"aggregatedOutput":"before,after"}` || c.Status != transcript.Canceled {
			t.Errorf("as it goes on: %s %s", details(c), c.Status)
		}
		command.Details = `{"aggregatedOutput":"all"}`
		k.fake.item(s.ID, turn, command, true)
		if c := k.both(s.ID)["c"]; details(c) != `{"aggregatedOutput":"all"}` || c.Status != transcript.Complete {
			t.Errorf("after its end: %s %s", details(c), c.Status)
		}
	})
}

// The successful end of a turn does not cancel a command that continues after it. The end of its process cancels the
// command, and clients are notified.
func TestWhatOutlivesItsTurnEndsWithItsProcess(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := &speaker{fake: k.fake}
		s := k.create()
		turn := k.send(s.ID)
		k.fake.item(s.ID, turn, runtime.Item{ID: "c", Role: "system", Type: "commandExecution",
			Details: `{"aggregatedOutput":null}`}, false)
		p.say(s.ID, turn, "c", "output", "before,")
		k.end(s.ID, turn)
		p.say(s.ID, turn, "c", "output", "after")
		before := k.read(s.ID, wholeWindow)
		if c := k.both(s.ID)["c"]; details(c) != `{"aggregatedOutput":"before,after"}` || c.Status != transcript.Complete {
			t.Errorf("after the turn: %s %s", details(c), c.Status)
		}
		k.fake.exited()
		if c := k.both(s.ID)["c"]; details(c) != `{"aggregatedOutput":"before,after"}` || c.Status != transcript.Canceled {
			t.Errorf("after the process: %s %s", details(c), c.Status)
		}
		if event := k.one("transcript_updated"); !strings.Contains(event, `"canceled"`) ||
			!strings.Contains(event, "before,after") {
			t.Errorf("published %s", event)
		}
		if after := k.read(s.ID, wholeWindow); after.Version == before.Version {
			t.Error("the version stayed")
		}
	})
}

// The end of a turn does not cancel entries that a client wrote in it.
func TestAClientsEntryIsNotCanceledWithTheTurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		own := transcript.Entry{MessageID: "own", TurnID: turn, Role: "system", Type: "note", Content: "1",
			Status: transcript.Streaming}
		k.do(k.UpsertTranscript(t.Context(), s.ID, own))
		k.fake.end(s.ID, turn, runtime.TurnInterrupted)
		own.Content = "2"
		k.do(k.UpsertTranscript(t.Context(), s.ID, own))
		if got := k.both(s.ID)["own"]; got.Content != "2" {
			t.Errorf("its streaming goes on: %q", got.Content)
		}
	})
}
