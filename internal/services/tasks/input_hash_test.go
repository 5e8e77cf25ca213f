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

// EV-17, EV-19: a runtime's input has the same hash in every folder and session; other messages, another mode and other
// tools change it.
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
		got := inputs(t, s.events(made.ID), "one")
		if len(got) != 1 {
			t.Fatalf("inputs are %+v", got)
		}
		if raw := string(content(t, store, got[0].Ref)); strings.Contains(raw, folder) || !strings.Contains(raw, `"cwd":"<CWD>"`) {
			t.Errorf("kept is %s", raw)
		}
		return got[0].Hash
	}
	one := hashOf("REPLY[yes]", "")
	if again := hashOf("REPLY[yes]", ""); again != one {
		t.Errorf("the same input has the hashes %s and %s", one, again)
	}
	if hashOf("REPLY[no]", "") == one || hashOf("REPLY[yes]", tasks.ModeAsk) == one {
		t.Error("other input has the same hash")
	}
}

// EV-21: the window of the model's input names what a restored conversation omits or truncates.
func TestEventsNameTheOmittedHistory(t *testing.T) {
	t.Parallel()
	records := turn(t, "", `"status":"completed"`)
	restored := journal.Record{Event: journal.Event{SessionID: "s", Type: session.EventRestored, Payload: []byte(
		`{"input_ref":{"content_hash":"sha256:ab"},"context_window":{"strategy":"truncate_oldest","omitted_turns":["t1"],"cut_outputs":["c9"]}}`)}}
	for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded"}, slices.Insert(records, 1, restored)) {
		var window struct {
			Hash   string `json:"input_hash"`
			Window struct {
				Omitted []string `json:"omitted_turns"`
				Cut     []string `json:"cut_outputs"`
			} `json:"context_window"`
			Reconstructed bool
		}
		if e.Type != tasks.ModelInput || json.Unmarshal(e.Payload, &window) != nil || !window.Reconstructed {
			continue
		}
		if !slices.Equal(window.Window.Omitted, []string{"t1"}) || !slices.Equal(window.Window.Cut, []string{"c9"}) || window.Hash != "sha256:ab" {
			t.Errorf("the input is %s", e.Payload)
		}
		return
	}
	t.Error("no event reports it")
}
