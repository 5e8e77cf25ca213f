package manager

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/stream"
	"harness/transcript"
)

// If the runtime dies in a turn, its requests expire, then the turn is interrupted. Clients are notified in this
// order. The next message works.
func TestRuntimeExit(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, idle := k.create(), k.create()
		turnID := k.send(s.ID)
		k.fake.item(s.ID, turnID, runtime.Item{ID: "a", Role: "assistant", Type: "agentMessage", Content: "half"}, false)
		for i, want := range kinds {
			k.fake.ask(s.ID, turnID, i, want.kind, want.method, want.params)
		}
		before := len(k.records())
		k.fake.exited()
		tail := k.records()[before:]
		var published []string
		for _, record := range tail {
			published = append(published, record.Type)
		}
		if got, want := strings.Join(published,
			" "), "approval_resolved tool_user_input_resolved tool_call_resolved transcript_updated "+stream.EventNotification+
			" "+eventRuntimeExited; got != want {
			t.Fatalf("published %s, want %s", got, want)
		}
		checkInterruptedFrame(t, tail[4].Payload, s.ID, turnID,
			"The codex runtime ended (signal SIGKILL) while this turn was running.")
		if meta := metaOf(t, tail[4]); meta.Session == nil || meta.Session.Title != session.NewChatTitle || meta.TurnID != turnID ||
			tail[4].Source != s.Runtime {
			t.Errorf("meta %+v", meta)
		}
		if turn := k.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted || turn.Error == "" {
			t.Errorf("stored %+v", turn)
		}

		// The reader sees a finished turn although no runtime is available.
		detail, err := k.Get(t.Context(), s.ID)
		k.do(err)
		if len(detail.Transcript) != 5 || detail.Transcript[4].Type != "turn.error" ||
			detail.Transcript[3].Status != transcript.Canceled || detail.Transcript[3].Content != "half" ||
			detail.Transcript[3].CompletedAt == nil {
			t.Errorf("transcript %+v", detail.Transcript)
		}
		if _, err := k.Get(t.Context(), idle.ID); err != nil {
			t.Errorf("an idle session: %v", err)
		}
		k.fake.started(ids.New())
		if next := k.send(s.ID); next == turnID {
			t.Error("the dead turn was steered into")
		}
		if turns, _ := k.fake.seen(); turns[1].ActiveTurnID != "" {
			t.Errorf("steered into %s", turns[1].ActiveTurnID)
		}
	})
}

func checkInterruptedFrame(t *testing.T, raw json.RawMessage, threadID, turnID, message string) {
	t.Helper()
	var frame struct {
		Method string
		Params struct {
			ThreadID string
			Turn     struct {
				ID, Status             string
				Items                  []any
				Error                  struct{ Message string }
				StartedAt, CompletedAt *int64
			}
		}
	}
	if err := json.Unmarshal(raw, &frame); err != nil {
		t.Fatal(err)
	}
	turn := frame.Params.Turn
	if frame.Method != "turn/completed" || frame.Params.ThreadID != threadID || turn.ID != turnID ||
		turn.Status != "interrupted" ||
		turn.Items == nil || turn.Error.Message != message || turn.StartedAt == nil || *turn.CompletedAt > time.Now().Unix() {
		t.Errorf("frame %s", raw)
	}
}

// If the server is killed in a turn, its next start does the same before anything else. It does so once, and only for
// its own node.
func TestServerRestart(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		k.flush()
		k.close()

		other := open(t, k.db, "another node")
		if turn := other.turn(s.ID, turnID); turn.Status != runtime.TurnInProgress {
			t.Errorf("another node ended our turn: %+v", turn)
		}
		other.close()

		began := time.Now()
		again := open(t, k.db, "node")
		if took := time.Since(began); took > slowness*2*time.Second {
			t.Errorf("recovery took %s", took)
		}
		if turn := again.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted {
			t.Errorf("stored %+v", turn)
		}
		if !strings.Contains(again.one("approval_resolved"), `"status":"expired"`) ||
			len(again.pending(s.ID, runtime.RequestApproval)) != 0 {
			t.Error("the request did not expire")
		}
		if err := again.Start(t.Context()); err != nil {
			t.Error(err)
		}
		if next := again.reopen(); len(next.events("approval_resolved")) != 1 {
			t.Error("the request expired again at the next start")
		}
	})
}

// Start does not sweep the live process of a runtime that started before the Service.
func TestStartKeepsLiveGeneration(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.do(k.recover(t.Context()))
		if turn := k.turn(s.ID, turnID); turn.Status != runtime.TurnInProgress {
			t.Errorf("stored %+v", turn)
		}
		// A new process starts, and the end of the previous one was never reported.
		k.fake.started(ids.New())
		if turn := k.turn(s.ID, turnID); turn.Status != runtime.TurnInterrupted {
			t.Errorf("stored %+v", turn)
		}
	})
}

func TestStopTwice(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.do(k.Stop(t.Context()))
		k.do(k.Stop(t.Context()))
		k.do(k.Start(t.Context()))
	})
}

// Stored conversations of the runtime, including archived ones, become sessions when it starts, page by page.
func TestAdoption(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var adopted []string
		k.fake.mu.Lock()
		for i := range 7 {
			id := ids.New()
			adopted = append(adopted, id)
			k.fake.threads = append(k.fake.threads, runtime.Thread{ID: id, Preview: fmt.Sprint("preview ", i), Cwd: "/there",
				CreatedAt: 1, UpdatedAt: int64(i), Archived: i > 4, Raw: encode(map[string]any{"id": id, "n": i})})
		}
		k.fake.threads[1].Name = "named"
		k.fake.mu.Unlock()
		k.fake.started(ids.New())
		k.eventually("adoption", func() bool {
			open, err := k.List(t.Context(), session.ListQuery{})
			k.do(err)
			archived, err := k.List(t.Context(), session.ListQuery{Archived: true})
			k.do(err)
			return len(open.Sessions) == 5 && len(archived.Sessions) == 2
		})
		for i, want := range []string{"preview 0", "named"} {
			got, err := k.Lookup(t.Context(), adopted[i])
			k.do(err)
			if got.Title != want || got.Cwd != "/there" || !got.Materialized || got.Controls.ApprovalPolicy != "untrusted" ||
				!strings.Contains(string(got.Thread), adopted[i]) {
				t.Errorf("adopted %+v", got)
			}
		}
	})
}

// A conversation that was started elsewhere appears with its first signal, and gets its description from the runtime.
func TestUnknownThreadIsAdopted(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		known, ephemeral := ids.New(), ids.New()
		k.fake.mu.Lock()
		k.fake.threads = append(k.fake.threads, runtime.Thread{ID: known, Preview: "what they said", Raw: encode("raw")})
		k.fake.mu.Unlock()
		k.fake.begin(known, "t1")
		k.fake.notify(ephemeral, "", "thread/started", nil)
		k.fake.item(ephemeral, "t2", runtime.Item{ID: "i", Role: "user", Type: "userMessage"}, true)
		k.flush()
		if _, err := k.Lookup(t.Context(), ephemeral); err != nil {
			t.Error(err)
		}
		k.eventually("description", func() bool {
			got, err := k.Lookup(t.Context(), known)
			k.do(err)
			return got.Title == "what they said" && string(got.Thread) == `"raw"`
		})
		if turn := k.turn(known, "t1"); turn.Status != runtime.TurnInProgress {
			t.Errorf("stored %+v", turn)
		}
		if steered := k.send(known); steered != "t1" {
			t.Errorf("a message went to turn %s, not into the running one", steered)
		}
	})
}

// A listing requested before a client archived the session does not unarchive it.
func TestLateListingUndoesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		asked := k.now()
		stale, err := k.fake.ReadThread(t.Context(), s.ID, false)
		k.do(err)
		_, err = k.Archive(t.Context(), s.ID)
		k.do(err)
		k.do(k.storeThreads(t.Context(), "codex", []runtime.Thread{stale}, asked))
		if got, err := k.Lookup(t.Context(), s.ID); err != nil || !got.Archived {
			t.Errorf("archived %t, %v", got.Archived, err)
		}
		k.do(k.storeThreads(t.Context(), "codex", []runtime.Thread{stale}, k.now()+1))
		if got, err := k.Lookup(t.Context(), s.ID); err != nil || got.Archived {
			t.Errorf("archived %t, %v: the runtime's later word counts", got.Archived, err)
		}
	})
}
