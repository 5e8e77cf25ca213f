package opencode

import (
	"encoding/json"
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

func eventLine(t *testing.T, kind string, properties map[string]any) bridge.Line {
	t.Helper()
	properties["sessionID"] = "ses_1"
	raw, err := json.Marshal(map[string]any{"type": kind, "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	return bridge.Line{Event: raw}
}

// Under load OpenCode writes events late: a message may be finished when it is announced, its text before its deltas.
// No text is lost or published twice.
func TestEventsThatAreWrittenLate(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	assistant := object{"info": object{"id": "msg_2", "role": "assistant", "parentID": "msg_1",
		"time": object{"created": 2, "completed": 9}}}
	text := func(text string, end int) bridge.Line {
		return eventLine(t, "message.part.updated",
			object{"part": object{"id": "prt_1", "messageID": "msg_2", "type": "text", "text": text,
				"time": object{"start": 3, "end": end}}})
	}
	delta := func(text string) bridge.Line {
		return eventLine(t, "message.part.delta", object{"messageID": "msg_2", "partID": "prt_1", "field": "text",
			"delta": text})
	}
	begin := []bridge.Line{
		eventLine(t, "message.updated", object{"info": object{"id": "msg_1", "role": "user", "time": object{"created": 1}}}),
		eventLine(t, "message.updated", assistant)}
	for name, lines := range map[string][]bridge.Line{
		"in time":                {text("", 0), delta("one "), delta("two"), text("one two", 9)},
		"text before its pieces": {text("one ", 0), delta("one "), delta("two"), text("one two", 9)},
		"all at once":            {text("one two", 9), delta("one "), delta("two"), text("one two", 9)},
		"a piece is missing":     {text("", 0), delta("one "), text("one two", 9)},
	} {
		var s state
		var signals []runtime.Signal
		for _, l := range append(append(append([]bridge.Line{}, begin...), lines...), eventLine(t, "session.idle", object{})) {
			said, _ := s.translate(l, 10, func(string) string { return "session" })
			signals = append(signals, said...)
		}
		checkRules(t, signals, false)
		published := false
		for _, signal := range signals {
			if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.Item.Content == "one two" {
				published = true
			}
		}
		if !published || len(s.Conversations) != 0 {
			t.Errorf("%s: the text was published: %t, the state is %+v", name, published, s)
		}
	}
}

// RA-33: OpenCode may answer a stop after the next turn has asked. The status in that answer neither settles the request nor
// ends the turn.
func TestAStopThatIsAnsweredLate(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	user := func(id string) bridge.Line {
		return eventLine(t, "message.updated", object{"info": object{"id": id, "role": "user", "time": object{"created": 1}}})
	}
	idle := bridge.Line{Snapshot: &bridge.Snapshot{Session: "ses_1", Status: "idle", Aborted: true, Turn: "msg_1",
		Messages: json.RawMessage("[]"), Permissions: json.RawMessage("[]"), Questions: json.RawMessage("[]")}}
	var s state
	var signals []runtime.Signal
	for _, line := range []bridge.Line{user("msg_1"), idle, user("msg_2"), eventLine(t, "session.status",
		object{"status": object{"type": "busy"}}), eventLine(t, "permission.asked", object{"id": "per_1", "permission": "bash"}), idle} {
		made, _ := s.translate(line, 10, func(string) string { return "session" })
		signals = append(signals, made...)
	}
	var ended []string
	for _, signal := range signals {
		switch change := signal.Change.(type) {
		case runtime.TurnCompleted:
			ended = append(ended, change.TurnID+" "+string(change.Status))
		case runtime.RequestResolved:
			ended = append(ended, "a request")
		}
	}
	if !slices.Equal(ended, []string{"msg_1 interrupted"}) || s.Conversations["ses_1"] == nil {
		t.Errorf("ended were %q", ended)
	}
}

// A placeholder of OpenCode, as of a conversation from its own terminal, is no title.
func TestPlaceholdersAreNoTitles(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]int{"New session - 2026-11-29T10:46:20.000Z": 0, "Child session - 2026-11-29T10:46:20.000Z": 0,
		untitled: 0, "New sessions of mine": 1} {
		var s state
		named := eventLine(t, "session.updated", map[string]any{"info": map[string]any{"id": "ses_1", "title": title}})
		signals, _ := s.translate(named, 10, func(string) string { return "session" })
		if described := New(Options{}).described(sessionInfo{ID: "ses_1", Title: title}); len(signals) != want ||
			(described.Name != "") != (want == 1) {
			t.Errorf("%q: %d signals, the name %q", title, len(signals), described.Name)
		}
	}
}
