package tasks_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/tasks"
	"harness/stream"
)

// record returns a line of the vocabulary as a journal record; false for another line.
func record(line []byte, seq int64) (journal.Record, bool) {
	line = bytes.TrimSpace(line)
	method, layout, ok := wire.LayoutOf(line)
	if !ok {
		return journal.Record{}, false
	}
	signal := wire.Read(bytes.Clone(line), method, layout)
	event := journal.Event{SessionID: "s", TurnID: signal.TurnID, ItemID: signal.ItemID, Type: stream.EventNotification,
		Time: seq, Source: "recorded", Payload: signal.Raw}
	meta := &stream.Meta{ReceivedAt: seq, TurnID: signal.TurnID, Layout: &layout}
	if signal.Kind == runtime.SignalRequest {
		event.Type = stream.EventRequest
		if asked, is := signal.Change.(runtime.InteractiveRequested); is {
			meta.Request = &stream.RequestRef{ID: "request " + string(signal.RequestID), Kind: string(asked.Kind),
				ItemID: signal.ItemID, TurnID: signal.TurnID}
		}
	}
	stream.SetMeta(&event, meta)
	return journal.Record{Event: event, Pos: seq, Seq: seq, SchemaVersion: journal.SchemaVersion}, true
}

// settled returns the resolution of a recorded request. In turn, requests are accepted, declined, and left open.
func settled(requested journal.Record, n int) (journal.Record, bool) {
	meta, err := stream.MetaOf(&requested.Event)
	if err != nil || meta.Request == nil || n%3 == 2 {
		return journal.Record{}, false
	}
	payload, _ := json.Marshal(map[string]string{"approvalId": meta.Request.ID, "status": "resolved",
		"decision": []string{"accept", "decline"}[n%3], "message": "recorded"})
	event := journal.Event{SessionID: "s", Type: "approval_resolved", Actor: "me", Payload: payload}
	return journal.Record{Event: event, Pos: requested.Seq, Seq: requested.Seq}, true
}

// recordingFiles lists the recordings of all runtimes.
func recordingFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"claude/testdata/*.golden.jsonl", "opencode/testdata/golden/*", "acp/testdata/*.golden",
		"codex/testdata/recordings/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "runtime", filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d recordings, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

// recordsOf returns the records of a recording, with resolutions of some requests.
func recordsOf(recording []byte) (records []journal.Record) {
	asked := 0
	for line := range bytes.Lines(recording) {
		one, ok := record(line, int64(len(records)+1))
		if !ok {
			continue
		}
		records = append(records, one)
		if one.Type == stream.EventRequest {
			if answer, is := settled(one, asked); is {
				answer.Seq = int64(len(records) + 1)
				records = append(records, answer)
			}
			asked++
		}
	}
	return records
}

// counted reports whether an event has token counts, in their only form.
func counted(t *testing.T, e tasks.Event) bool {
	t.Helper()
	if e.Type != tasks.UsageReported {
		return false
	}
	var used struct {
		Input     *int64          `json:"input_tokens"`
		Cached    *int64          `json:"cached_input_tokens"`
		Output    *int64          `json:"output_tokens"`
		Reasoning *int64          `json:"reasoning_tokens"`
		Raw       json.RawMessage `json:"raw"`
	}
	if err := json.Unmarshal(e.Payload, &used); err != nil || used.Input == nil || used.Cached == nil || used.Output == nil ||
		used.Reasoning == nil || len(used.Raw) == 0 {
		t.Errorf("counts of use are %s (%v)", e.Payload, err)
		return false
	}
	return *used.Input > 0 && *used.Output > 0
}

// endOnce checks that each ended turn of the records is a task that ended once.
func endOnce(t *testing.T, records []journal.Record, events []tasks.Event) {
	t.Helper()
	ends := map[string]int{}
	for _, e := range events {
		if e.Type == tasks.TaskCompleted || e.Type == tasks.TaskFailed || e.Type == tasks.TaskStopped {
			ends[e.Trace.TurnID]++
		}
	}
	running := "" // an agent that was killed during a turn does not report its end
	for i := range records {
		method, _, _ := wire.LayoutOf(records[i].Payload)
		switch turn := records[i].TurnID; {
		case method == wire.MethodTurnStarted && running == "":
			running = turn
		case method == wire.MethodTurnCompleted && turn == running:
			running = ""
			if ends[turn] != 1 {
				t.Errorf("turn %s ended, its task %d times", turn, ends[turn])
			}
		}
	}
}

// EV-02, EV-04, EV-05, EV-06, EV-10, EV-11, EV-13, EV-20, TE-01, TE-02, TL-19, TL-22, RA-22: the lines of real agents,
// truncated anywhere and with any responses, yield events in order. The same records yield the same events.
func TestEventsOfEveryRecording(t *testing.T) {
	t.Parallel()
	files := recordingFiles(t)
	about := tasks.About{SessionID: "s", Runtime: "recorded", CreatedAt: 1}
	seen, tools, deltas, refused, uses, denials := 0, 0, 0, 0, 0, 0
	used := map[string]int{} // number of events with counts, by runtime
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// A file may hold several recordings.
		for _, recording := range bytes.Split(content, []byte("\n== ")) {
			records := recordsOf(recording)
			all := tasks.Events(about, records)
			check(t, all)
			endOnce(t, records, all)
			calls, denied := requireTranscript(t, all)
			uses, denials = uses+calls, denials+denied
			again := tasks.NewLog(about)
			same := again.Begin()
			for i := range records {
				same = append(same, again.Take(&records[i])...)
				if i%7 == 0 {
					check(t, same)
				}
			}
			if written(same) != written(all) {
				t.Errorf("%s gives other events the second time", file)
			}
			for _, e := range all {
				seen++
				if counted(t, e) {
					used[strings.Split(filepath.ToSlash(file), "/")[3]]++
				}
				if e.Type == tasks.CallRequested {
					tools++
				}
				if e.Type == tasks.CallOutput {
					deltas++
				}
				if e.Type == tasks.CallCompleted && !bytes.Contains(e.Payload, []byte(`"executed_by":"runtime"`)) {
					t.Errorf("a call that the runtime ran has the event %s", e.Payload)
				}
				if e.Type == tasks.CallEvaluated && bytes.Contains(e.Payload, []byte(`"source":"runtime","result":"deny"`)) {
					refused++
				}
			}
			if t.Failed() {
				t.Fatalf("so far %s", file)
			}
		}
	}
	for _, name := range []string{"claude", "opencode", "acp", "codex"} {
		if used[name] == 0 {
			t.Errorf("no counts of use in the recordings of %s", name)
		}
	}
	t.Logf("%d events, %d tool calls of %d files", seen, tools, len(files))
	if deltas == 0 {
		t.Error("no tool says anything before its end")
	}
	if refused == 0 {
		t.Error("no event reports a call that a runtime refused by itself")
	}
	if uses != tools || denials == 0 {
		t.Errorf("transcripts have %d of %d calls, %d denials", uses, tools, denials)
	}
	if seen < 2000 || tools < 50 {
		t.Errorf("only %d events and %d tool calls; the recordings are cut short", seen, tools)
	}
}
