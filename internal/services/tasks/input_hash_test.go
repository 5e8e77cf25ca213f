package tasks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
)

// EV-17, EV-19: what a runtime is given has the same hash in every folder and session; other messages, another mode and
// other tools have another one.
func TestTheHashOfAnInputIsFreeOfItsFolder(t *testing.T) {
	t.Parallel()
	s, store := keeping(t, database.SQLite)
	hashOf := func(text string, mode tasks.Mode) string {
		t.Helper()
		folder := t.TempDir()
		made, err := s.tasks.CreateSession(t.Context(), tasks.Create{Cwd: folder})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.tasks.Submit(t.Context(), tasks.Task{SessionID: made.ID, ID: "one", Messages: says(text), Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		s.over(made.ID, "one")
		told := inputs(t, s.events(made.ID), "one")
		if len(told) != 1 {
			t.Fatalf("told of are %+v", told)
		}
		if raw := string(content(t, store, told[0].Ref)); strings.Contains(raw, folder) || !strings.Contains(raw, `"cwd":"<CWD>"`) {
			t.Errorf("kept is %s", raw)
		}
		return told[0].Hash
	}
	one := hashOf("REPLY[yes]", "")
	if again := hashOf("REPLY[yes]", ""); again != one {
		t.Errorf("the same input has the hashes %s and %s", one, again)
	}
	if hashOf("REPLY[no]", "") == one || hashOf("REPLY[yes]", tasks.ModeAsk) == one {
		t.Error("other input has the same hash")
	}
}

// EV-21: what was cut and left out of a conversation that is told again stands in the window of the model's input.
func TestWhatIsLeftOutIsToldInEvents(t *testing.T) {
	t.Parallel()
	records := turn(t, "", `"status":"completed"`)
	restored := journal.Record{Event: journal.Event{SessionID: "s", Type: session.EventRestored, Payload: []byte(
		`{"input_ref":{"content_hash":"sha256:ab"},"context_window":{"strategy":"truncate_oldest","omitted_turns":["t1"],"cut_outputs":["c9"]}}`)}}
	for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded"}, slices.Insert(records, 1, restored)) {
		var told struct {
			Hash   string `json:"input_hash"`
			Window struct {
				Omitted []string `json:"omitted_turns"`
				Cut     []string `json:"cut_outputs"`
			} `json:"context_window"`
			Reconstructed bool
		}
		if e.Type != tasks.ModelInput || json.Unmarshal(e.Payload, &told) != nil || !told.Reconstructed {
			continue
		}
		if !slices.Equal(told.Window.Omitted, []string{"t1"}) || !slices.Equal(told.Window.Cut, []string{"c9"}) || told.Hash != "sha256:ab" {
			t.Errorf("told is %s", e.Payload)
		}
		return
	}
	t.Error("nothing is told of it")
}
