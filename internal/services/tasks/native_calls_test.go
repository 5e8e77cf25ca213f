package tasks_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/content/artifact"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/tasks"
	"harness/internal/services/tools"
)

// nativeTurn returns the journal records of a turn with a command of the runtime in a folder, with long output.
func nativeTurn(t *testing.T, folder, output string) []journal.Record {
	t.Helper()
	here := wire.Place{ThreadID: "s", TurnID: "t"}
	command := func(status string, said any) programItem {
		return programItem{"commandExecution", "c", status, "cat " + folder + "/a.txt; ls " + folder + "2", folder, said}
	}
	var records []journal.Record
	for i, signal := range []runtime.Signal{
		wire.TurnStarted("s", wire.Turn{ID: "t", StartedAt: 1, Model: "model-two"}),
		wire.ItemStarted(here, command("inProgress", nil), 2),
		wire.ItemCompleted(here, command("completed", output), 3),
		wire.TokenUsage(here, wire.Tokens{Input: 9, Cached: 4, Output: 2, Total: 11},
			wire.Tokens{Input: 9, Cached: 4, Output: 2, Total: 11}, 0),
		wire.TurnCompleted("s", wire.Turn{ID: "t", Status: runtime.TurnDone, StartedAt: 1, CompletedAt: 5}),
	} {
		one, ok := record(signal.Raw, int64(10*(i+1)))
		if !ok {
			t.Fatalf("%s is no line", signal.Raw)
		}
		records = append(records, one)
	}
	return records
}

type programItem struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	Said    any    `json:"aggregatedOutput"`
}

// EV-01, EV-13, EV-14, EV-19, TL-21, TL-22: the hash of a runtime's own call does not depend on the session's folder,
// and can be recomputed from the displayed input. The events name the model and the runtime's own id. A long result is
// an artifact with a preview, the same each time. Usage has timings and cached tokens.
func TestEventsOfNativeCalls(t *testing.T) {
	t.Parallel()
	hashes := map[string]bool{}
	long := strings.Repeat("é", 6000)
	for _, folder := range []string{"/srv/one", "/home/ann/two words"} {
		about := tasks.About{SessionID: "s", Runtime: "some", CreatedAt: 1, Origin: tasks.Origin{ClientID: "mine"},
			Begin: tasks.Facts{Model: "model-one", RuntimeSessionID: "native", Folders: []string{folder}}}
		records := nativeTurn(t, folder, long)
		events := tasks.Events(about, records)
		check(t, events)
		if again := tasks.Events(about, records); written(again) != written(events) {
			t.Error("the same records give other events")
		}
		if first := events[0]; first.Runtime != (tasks.RuntimeRef{Name: "some", Model: "model-one", RuntimeSessionID: "native"}) ||
			first.Trace.ClientID != "mine" {
			t.Errorf("it begins with %+v", first)
		}
		for _, e := range events[1:] {
			if e.Runtime.Model != "model-two" || e.Runtime.RuntimeSessionID != "native" {
				t.Errorf("%s is of %+v", e.Type, e.Runtime)
			}
			var said struct {
				Hash     string          `json:"input_hash"`
				Input    json.RawMessage `json:"input"`
				Preview  string          `json:"result_preview"`
				Ref      *artifact.Ref   `json:"result_ref"`
				Executed string          `json:"executed_by"`
				Where    string          `json:"execution_env"`
				Cached   int             `json:"cached_input_tokens"`
				Timings  *struct {
					Duration int64 `json:"duration_ms"`
				} `json:"timings"`
			}
			if err := json.Unmarshal(e.Payload, &said); err != nil {
				t.Fatalf("%s: %v", e.Payload, err)
			}
			switch e.Type {
			case tasks.CallRequested:
				hashes[said.Hash] = true
				if sum := hashOf(t, said.Input); sum != said.Hash || strings.Contains(string(said.Input), folder+"/") ||
					!strings.Contains(string(said.Input), "ls "+folder+"2") {
					t.Errorf("the input %s has the hash %s, said is %s", said.Input, sum, said.Hash)
				}
			case tasks.CallCompleted:
				if said.Executed != "runtime" || said.Where != "runtime_internal" || said.Ref == nil || said.Ref.Size != int64(len(long)) ||
					!strings.HasPrefix(said.Preview, "éé") || len(said.Preview) > 1100 {
					t.Errorf("it ended with %.300s", e.Payload)
				}
			case tasks.UsageReported:
				if said.Cached != 4 || said.Timings == nil || said.Timings.Duration != 20 {
					t.Errorf("use is %s", e.Payload)
				}
			}
		}
	}
	if len(hashes) != 2 { // the neighbour "FOLDER2" is no part of the folder
		t.Errorf("there are %d hashes", len(hashes))
	}
}

// A call has the same hash in another folder if only that folder's name differs.
func TestTheHashOfANativeCallIsFreeOfItsFolder(t *testing.T) {
	t.Parallel()
	hashes := map[string][]string{}
	for _, folder := range []string{"/srv/one", "/home/ann/two words"} {
		here := wire.Place{ThreadID: "s", TurnID: "t"}
		for name, item := range map[string]any{
			"command": programItem{"commandExecution", "c", "inProgress", "cat '" + folder + "/a.txt'", folder, nil},
			"change": map[string]any{"type": "fileChange", "id": "c", "status": "inProgress",
				"changes": []any{map[string]any{"path": folder + "/a.txt", "kind": "add", "diff": "+x"}}},
			"mcp": map[string]any{"type": "mcpToolCall", "id": "c", "status": "inProgress", "server": "other", "tool": "read",
				"arguments": map[string]any{"path": folder, "n": 1e21, folder: []any{folder + "/"}}},
		} {
			var records []journal.Record
			for i, signal := range []runtime.Signal{wire.TurnStarted("s", wire.Turn{ID: "t", StartedAt: 1}), wire.ItemStarted(here, item, 2)} {
				one, _ := record(signal.Raw, int64(i+1))
				records = append(records, one)
			}
			for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "r", Begin: tasks.Facts{Folders: []string{folder}}}, records) {
				if e.Type == tasks.CallRequested {
					var call struct {
						Hash string `json:"input_hash"`
					}
					if err := json.Unmarshal(e.Payload, &call); err != nil {
						t.Fatal(err)
					}
					hashes[name] = append(hashes[name], call.Hash)
				}
			}
		}
	}
	for _, name := range []string{"command", "change", "mcp"} {
		if all := hashes[name]; len(all) != 2 || all[0] != all[1] {
			t.Errorf("the hashes of %s are %v", name, all)
		}
	}
}

func hashOf(t *testing.T, input json.RawMessage) string {
	t.Helper()
	sum, err := tools.Hash(input)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// EV-14, TL-21: the artifact of an event has the bytes of its hash, even if the server has secrets.
func TestLongResultsAreKept(t *testing.T) {
	t.Parallel()
	s, store := keeping(t, database.SQLite)
	made, err := s.tasks.CreateSession(t.Context(), tasks.Create{Origin: tasks.Origin{ClientID: "c", RequestID: "r", UserID: "u"}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("line\n", 3000)
	_, err = s.tasks.Submit(t.Context(), tasks.Task{SessionID: made.ID, ID: "one", Messages: says("hello"),
		Origin: tasks.Origin{RequestID: "second"}})
	if err != nil {
		t.Fatal(err)
	}
	s.over(made.ID, "one")
	records := nativeTurn(t, "/srv", long)
	if _, err := s.Journal.Commit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
		var all []journal.Event
		for _, one := range records {
			one.SessionID = made.ID
			all = append(all, one.Event)
		}
		return all, nil
	}); err != nil {
		t.Fatal(err)
	}
	var ref *artifact.Ref
	for _, e := range s.events(made.ID) {
		if e.Trace.ClientID != "c" && e.Trace.TaskID == "" || e.Trace.TaskID == "one" && e.Trace.RequestID != "second" {
			t.Errorf("%s is of %+v", e.Type, e.Trace)
		}
		var said struct {
			Ref *artifact.Ref `json:"result_ref"`
		}
		if e.Type == tasks.CallCompleted && e.Trace.TaskID == "t" {
			if err := json.Unmarshal(e.Payload, &said); err != nil {
				t.Fatal(err)
			}
			ref = said.Ref
		}
	}
	if got := string(content(t, store, ref)); got != long {
		t.Errorf("the artifact has %d bytes", len(got))
	}
	if stored, err := store.Get(t.Context(), ref.ID); err != nil || stored.SessionID != made.ID {
		t.Errorf("it is of session %q, %v", stored.SessionID, err)
	}
}
