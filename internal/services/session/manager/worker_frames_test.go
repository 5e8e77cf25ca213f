package manager

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
	"harness/transcript"
)

// ST-15, ST-16, ST-17: only clients that subscribed to exactly that thread receive the frames of a worker's thread,
// and of its sub-agent's. That holds from the runtime's first signal about it, for every signal and change, published
// early or stored. It also holds after a kill, and after the worker is deleted.
func TestEveryFrameOfAWorkerIsSystemOwned(t *testing.T) {
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprintf("apart=%t", apart), func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				k.fake.apart, k.fake.natives = apart, []string{"native", "another"}
				if !apart {
					k.fake.natives = nil
				}
				var early earlyRecords
				defer k.log.SubscribeEphemeral(early.take)()
				project := k.project("p").ID
				worker, err := k.Create(t.Context(), session.Create{SystemOwned: true})
				k.do(err)
				child := ids.New()
				k.fake.notify(child, "", wire.MethodThreadStarted, runtime.ThreadOpened{ParentID: worker.ID})
				_, err = k.Rename(t.Context(), worker.ID, "Project supervisor")
				k.do(err)
				_, err = k.AssignProject(t.Context(), worker.ID, &project)
				k.do(err)
				for _, id := range []string{worker.ID, child} {
					saysEverything(k, id, "turn")
					_, err := k.UpsertTranscripts(t.Context(), id, []transcript.Entry{{MessageID: "m", TurnID: "turn", Role: "system",
						Type: "note", Content: "c", Status: transcript.Complete}})
					k.do(err)
				}
				k.requireHidden(worker.ID, child)
				early.requireHidden(t, k, worker.ID, child)
				k.fake.begin(worker.ID, "cut off")
				next := k.reopenKnown() // its turns end because their process is missing
				next.fake.apart = apart
				for _, id := range []string{worker.ID, child} {
					saysEverything(next, id, "after")
				}
				next.fake.begin(child, "runs")
				for _, id := range []string{worker.ID, child} {
					_, err := next.Delete(t.Context(), id)
					next.do(err)
					next.fake.notify(id, "", "thread/closed", nil)
				}
				next.index.Forget(worker.ID)
				saysEverything(next, worker.ID, "late")
				next.requireHidden(worker.ID, child)
			})
		})
	}
}

// ST-15: while a worker's conversation is being opened, signals about an unnamed conversation reach only its
// subscribers. A session that existed before stays visible to all.
func TestWordsBeforeAWorkersNameAreSystemOwned(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		chat, err := k.Create(t.Context(), session.Create{})
		k.do(err)
		worker := ids.New()
		early := func(id string) {
			k.fake.emit(runtime.Signal{Kind: runtime.SignalNotification, Method: "warning", ThreadID: id, WorkerOpening: true,
				Raw: []byte(`{"method":"warning","params":{"threadId":"` + id + `"}}`)})
		}
		early(worker)
		early(chat.ID)
		early(worker)
		k.flush()
		shown := 0
		for _, record := range k.records() {
			frames, err := stream.Frames(record)
			k.do(err)
			for _, frame := range frames {
				if frame.ThreadID == chat.ID && frame.Type == "notification" && !frame.SystemOwned &&
					strings.Contains(string(frame.Payload), `"warning"`) {
					shown++
				}
			}
		}
		if seen := requireHidden(t, k.records(), []string{worker}); seen != 2 || shown != 1 {
			t.Errorf("%d frames of the worker, %d of the chat are shown", seen, shown)
		}
	})
}

// If a worker's conversation cannot be opened, no session remains. A user's session never becomes a worker.
func TestAWorkerThatCannotBeOpenedLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.fake.apart = true
		k.fake.mu.Lock()
		k.fake.down = true
		k.fake.mu.Unlock()
		id := ids.New()
		if _, err := k.Create(t.Context(), session.Create{ID: id, SystemOwned: true}); err == nil {
			t.Fatal("it was opened without a runtime")
		}
		page, err := k.List(t.Context(), session.ListQuery{IncludeSystemOwned: true})
		k.do(err)
		if len(page.Sessions) != 0 {
			t.Errorf("it left %+v", page.Sessions)
		}
	})
}

// saysEverything makes the runtime emit everything it can about a thread: each known method, changes, texts, a request
// of each kind, and unknown methods.
func saysEverything(k *kit, id, turn string) {
	k.t.Helper()
	f := k.fake
	f.begin(id, turn)
	for _, method := range []string{wire.MethodThreadStarted, wire.MethodTokenUsage, wire.MethodTurnPlan, wire.MethodTurnDiff,
		wire.MethodReasoningDelta, wire.MethodSummaryDelta, wire.MethodModelRerouted, wire.MethodError, wire.MethodAppList,
		wire.MethodMCPLogin, wire.MethodAccount, wire.MethodAccountLogin, wire.MethodRateLimits, "warning",
		"thread/status/changed", "thread/settings/updated", "thread/closed", "never/known"} {
		f.notify(id, turn, method, nil)
	}
	f.notify(id, turn, "thread/name/updated", runtime.ThreadNamed{Name: "n " + turn})
	f.emit((&speaker{fake: f}).delta(id, turn, "i"+turn, "text", "word"))
	f.item(id, turn, runtime.Item{ID: "i" + turn, Type: "agentMessage", Role: "assistant", Content: "text"}, true)
	for i, kind := range []runtime.RequestKind{runtime.RequestApproval, runtime.RequestToolInput, runtime.RequestToolCall} {
		f.ask(id, turn, 100*len(turn)+10*len(id)+i, kind, "item/asks", `{"threadId":"`+id+`"}`)
	}
	f.end(id, turn, runtime.TurnFailed)
	k.flush()
}

type earlyRecords struct {
	mu  sync.Mutex
	all []journal.Record
}

func (e *earlyRecords) take(events []journal.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range events {
		e.all = append(e.all, journal.Record{Event: event})
	}
}

func (e *earlyRecords) requireHidden(t *testing.T, k *kit, ids ...string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if seen := requireHidden(t, e.all, ids); seen == 0 {
		t.Error("no text was published early")
	}
}

func (k *kit) requireHidden(ids ...string) {
	k.t.Helper()
	if seen := requireHidden(k.t, k.records(), ids); seen < 30 {
		k.t.Errorf("only %d frames were looked at", seen)
	}
}

// requireHidden fails for each frame of these threads that other clients would receive, and counts the frames.
func requireHidden(t *testing.T, records []journal.Record, ids []string) (seen int) {
	t.Helper()
	of := map[string]bool{}
	for _, id := range ids {
		of[id] = true
	}
	for _, record := range records {
		frames, err := stream.Frames(record)
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range frames {
			if of[frame.ThreadID] {
				seen++
				if !frame.SystemOwned {
					t.Errorf("all subscribers receive %s at %d: %.200s", frame.Type, record.Pos, frame.Payload)
				}
			}
		}
	}
	return seen
}
