package codex_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/codextest"
)

// The history of a conversation is complete and in order. The adapter does not publish codex's advice against reading
// it in one call. Its description of a conversation from the store equals codex's own.
func TestHistoryIsReadAndDescribed(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		state := runtime.ThreadState{ID: thread, Title: "a name", Opening: "Reply with exactly one"}
		if err := b.codex.NameThread(t.Context(), thread, state.Title); err != nil {
			t.Fatal(err)
		}
		var turns []string
		for _, message := range []string{state.Opening, "Reply with exactly two", "Reply with exactly three"} {
			turn := b.turn(t, runtime.StartTurn{ThreadID: thread}, message)
			b.completed(t, turn)
			turns = append(turns, turn)
		}
		read, err := b.codex.ReadThread(t.Context(), thread, true)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, turn := range read.Turns {
			got = append(got, turn.ID)
			if len(turn.Items) != 2 || turn.Items[0].Role != "user" ||
				turn.Items[1].Content != []string{"one", "two", "three"}[i] {
				t.Errorf("turn %d is %+v", i, turn)
			}
		}
		if version == codextest.Default && !reflect.DeepEqual(got, turns) || len(got) != len(turns) {
			t.Errorf("turns %v, want %v", got, turns)
		}

		state.Turns, state.UpdatedAt = read.Turns, read.UpdatedAt
		raw, err := b.codex.Call(t.Context(), "thread/read", map[string]any{"threadId": thread, "includeTurns": true})
		if err != nil {
			t.Fatal(err)
		}
		var asked struct{ Thread json.RawMessage }
		if err := json.Unmarshal(raw, &asked); err != nil {
			t.Fatal(err)
		}
		if said := b.codex.Describe(read.Raw, state); !sameJSON(t, said, asked.Thread) {
			t.Errorf("described as\n%s, codex says\n%s", said, asked.Thread)
		}
		for _, s := range b.all() {
			if strings.Contains(s.Method, "deprecation") {
				t.Errorf("published: %s", s.Raw)
			}
		}
	})
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var left, right any
	if err := json.Unmarshal(a, &left); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &right); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(left, right)
}
