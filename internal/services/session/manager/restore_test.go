package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
	"harness/transcript"
)

// forgetful makes the runtime lose its conversations. It then accepts messages to one only with a history. native is
// the conversation's new id ("" keeps the old one).
func (k *kit) forgetful(native string) (sent *[]runtime.StartTurn) {
	sent = &[]runtime.StartTurn{}
	k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
		*sent = append(*sent, in)
		if in.Continues && in.History == "" {
			return runtime.StartedTurn{}, &runtime.Error{Runtime: "codex", Message: "no rollout", Kind: runtime.ErrThreadNotFound}
		}
		k.fake.begin(in.ThreadID, turnID)
		return runtime.StartedTurn{TurnID: turnID, NativeID: native}, nil
	}
	return sent
}

// SE-02, SE-04: a session continues although its runtime has lost the conversation. The runtime gets the transcript,
// including results of tools. The transcript and the journal record the replay, and the conversation's new id.
func TestALostConversationIsSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		kept := map[string]string{}
		k := openWith(t, db, "node", func(o *Options) {
			o.HistoryBytes = 4000
			o.Keep = func(_ context.Context, _, name, _ string, content []byte) (json.RawMessage, error) {
				kept[name] = string(content)
				return json.RawMessage(`{"artifact_id":"one"}`), nil
			}
		})
		s := k.create()
		details := func(output string) *string {
			text := string(encode(map[string]any{"id": "c", "type": "commandExecution", "command": "ls", "status": "completed",
				"exitCode": 0, "aggregatedOutput": output}))
			return &text
		}
		sent := k.forgetful("other-name")
		first := k.send(s.ID)
		if len(*sent) != 1 || (*sent)[0].Continues {
			t.Fatalf("the first message was sent as %+v", *sent)
		}
		for _, entry := range []transcript.Entry{
			{MessageID: "u", TurnID: first, Role: "user", Type: "userMessage", Content: "the word is PERIWINKLE",
				Status: transcript.Complete},
			{MessageID: "c", TurnID: first, Role: "system", Type: "commandExecution", Content: "Command",
				Details: details(strings.Repeat("long ", 2000)), Status: transcript.Complete},
		} {
			k.do(k.UpsertTranscript(t.Context(), s.ID, entry))
		}
		k.end(s.ID, first)
		k.flush()
		second := k.send(s.ID)

		last := (*sent)[len(*sent)-1]
		if len(*sent) != 3 || !strings.Contains(last.History, "PERIWINKLE") || !strings.Contains(last.History, `"tool_result"`) ||
			!strings.Contains(last.History, `"cut_from_bytes":10000`) || len(last.History) > 5000 || last.Cwd == "" {
			t.Fatalf("the runtime received %d messages, at last %+v", len(*sent), last)
		}
		if len(kept["tool_result.txt"]) != 10000 || !strings.Contains(last.History, `"artifact_ref":{"artifact_id":"one"}`) {
			t.Errorf("of the long output %d bytes are kept", len(kept["tool_result.txt"]))
		}
		if kept["restored.txt"] != last.History {
			t.Errorf("kept is %q", kept["restored.txt"])
		}
		restored := k.events(session.EventRestored)
		if len(restored) != 1 {
			t.Fatalf("the journal says %+v", restored)
		}
		var said session.Restored
		k.do(json.Unmarshal(restored[0].Payload, &said))
		if said.Messages != 3 || string(said.InputRef) != `{"artifact_id":"one"}` ||
			len(said.Window.CutOutputs) != 1 || said.Window.Strategy != "truncate_oldest" {
			t.Errorf("it says %+v", said)
		}
		entries, err := k.TurnEntries(t.Context(), s.ID, second)
		k.do(err)
		found := false
		for _, entry := range entries {
			found = found || entry.MessageID == "restored-"+second && strings.Contains(entry.Content, "3 messages")
		}
		if !found {
			t.Errorf("the transcript says %+v", entries)
		}
		now, err := k.Lookup(t.Context(), s.ID)
		if err != nil || now.RuntimeSessionID != "other-name" {
			t.Errorf("the session goes by %q, %v", now.RuntimeSessionID, err)
		}
		if id, known := k.index.ByNative("codex", "other-name"); id != s.ID || !known {
			t.Errorf("what the runtime says of its conversation is about %q", id)
		}
	})
}

// A lost conversation stays lost if the runtime does not accept a replay, and the refusal says so.
func TestALostConversationStaysLost(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := open(t, db, "node")
		k.fake.forgets = true
		s := k.create()
		sent := k.forgetful("")
		first := k.send(s.ID)
		k.end(s.ID, first)
		k.flush()
		if _, err := k.Send(t.Context(), s.ID, session.Message{Text: "hi"}); !errors.Is(err, runtime.ErrThreadNotFound) {
			t.Errorf("the message was answered with %v", err)
		}
		if len(*sent) != 2 || len(k.events(session.EventRestored)) != 0 {
			t.Errorf("the runtime received %+v", *sent)
		}
	})
}
