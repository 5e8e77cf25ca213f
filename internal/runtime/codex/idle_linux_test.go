package codex_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/tests/codextest"
	"harness/tests/polling"
)

func (b *bundle) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !polling.Until(patience, ok) {
		t.Fatalf("never: %s", what)
	}
}

func (b *bundle) loaded(t *testing.T) []string {
	t.Helper()
	result, err := b.codex.Call(t.Context(), "thread/loaded/list", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Data []string `json:"data"`
	}
	if err := json.Unmarshal(result, &listed); err != nil {
		t.Fatal(err)
	}
	return listed.Data
}

// lastRequest returns codex's last request to the model.
func (b *bundle) lastRequest() string {
	requests := b.model.Requests()
	return string(requests[len(requests)-1].Body)
}

// The adapter unloads idle sessions from codex's memory, without a notification to clients. On its next use, a
// session has its history and its tools. A session stays loaded while work is running in it, or with approvals for
// the whole session.
func TestIdleSessionsAreUnloaded(t *testing.T) {
	t.Parallel()
	b := setupWith(t, codextest.Default, func(o *codex.Options) { o.UnloadAfter = time.Second })
	free := runtime.StartThread{ApprovalPolicy: "never", Sandbox: "danger-full-access"}
	tool := json.RawMessage(
		`[{"type":"function","name":"look","description":"d","inputSchema":{"type":"object","properties":{}}}]`)

	idle := b.thread(t, runtime.StartThread{DynamicTools: tool})
	b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: idle}, "MOCK_REPLY[remember the plum]"))
	background := b.thread(t, free)
	b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: background}, "MOCK_CMD[sleep 300]"))
	asking := b.thread(t, runtime.StartThread{})
	b.turn(t, runtime.StartTurn{ThreadID: asking}, "MOCK_PATCH[never.txt]")
	b.requested(t, asking)
	kept := b.thread(t, runtime.StartThread{})
	turn := b.turn(t, runtime.StartTurn{ThreadID: kept}, "MOCK_CMD[touch kept]")
	b.answer(t, b.requested(t, kept), runtime.Reply{Decision: "accept", Scope: "session"})
	b.completed(t, turn)

	b.eventually(t, "the idle session is unloaded", func() bool { return !slices.Contains(b.loaded(t), idle) })
	for what, thread := range map[string]string{"with a command": background, "with an approval": asking,
		"with an acceptance": kept} {
		if !slices.Contains(b.loaded(t), thread) {
			t.Errorf("the session %s was unloaded", what)
		}
	}
	b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: idle}, "and now?"))
	if last := b.lastRequest(); !strings.Contains(last, "remember the plum") || !strings.Contains(last, `"name":"look"`) {
		t.Errorf("it goes on without its history or its tools: %s", last)
	}
	// An operation that needs a loaded session loads it.
	b.eventually(t, "it is unloaded again", func() bool { return !slices.Contains(b.loaded(t), idle) })
	if _, err := b.codex.Call(t.Context(), "thread/compact/start", map[string]string{"threadId": idle}); err != nil {
		t.Errorf("compact an unloaded session: %v", err)
	}
	for _, s := range b.all() {
		if s.Method == "thread/closed" || s.Method == "thread/status/changed" &&
			strings.Contains(string(s.Params), "notLoaded") {
			t.Errorf("published: %s", s.Raw)
		}
	}
	if n := b.codex.Counters().Unloads; n < 2 {
		t.Errorf("%d unloads are counted", n)
	}
}

// Unloaded sessions use no memory: before, about 1 MiB each was never freed.
func TestUnloadingGivesMemoryBack(t *testing.T) {
	t.Parallel()
	b := setupWith(t, codextest.Default, func(o *codex.Options) { o.UnloadAfter = time.Second })
	use := func(sessions int) {
		for range sessions {
			thread := b.thread(t, runtime.StartThread{})
			b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "hello"))
		}
		b.eventually(t, "all are unloaded", func() bool { return len(b.loaded(t)) == 0 })
	}
	use(20)
	before := process.Resident(b.codex.Status().PID)
	use(40)
	if grown := process.Resident(b.codex.Status().PID) - before; grown > 25<<20 {
		t.Errorf("40 sessions left %d MiB behind", grown>>20)
	}
}

// The adapter repeatedly replaces an idle process above the bound while messages arrive. Each message gets one
// answer, in its session with its history, and running work is not disturbed.
func TestAnIdleProcessIsRecycledAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, version := range codextest.Versions() {
		for _, shimmed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/shim=%t", version, shimmed), func(t *testing.T) {
				t.Parallel()
				recycle(t, version, shimmed)
			})
		}
	}
}

func recycle(t *testing.T, version codextest.Version, shimmed bool) {
	const sessions, rounds = 5, 3
	b := setupWith(t, version, func(o *codex.Options) {
		o.RecycleBytes, o.RecycleIdle = 1<<20, 20*time.Millisecond
		sink := o.Setup.Supervise.Sink
		o.Setup.Supervise.Sink = func(batch runtime.Batch) {
			sink(batch)
			if batch.Stored != nil {
				batch.Stored()
			}
		}
		if shimmed {
			o.Setup.Launch.Shims, o.Setup.Launch.Detach = newSurvivor(t, "").host, true
		}
	})
	threads := make([]string, sessions)
	for i := range threads {
		threads[i] = b.thread(t, runtime.StartThread{ApprovalPolicy: "never", Sandbox: "danger-full-access"})
		// As for sessions: a conversation without messages is on disk once it has a name.
		if err := b.codex.NameThread(t.Context(), threads[i], "new"); err != nil {
			t.Fatal(err)
		}
	}
	var senders sync.WaitGroup
	for i, thread := range threads {
		senders.Go(func() {
			for round := range rounds {
				started, err := b.codex.StartTurn(t.Context(),
					runtime.StartTurn{ThreadID: thread, Input: text(fmt.Sprintf("message %d of %d.", round, i))})
				if err != nil {
					t.Errorf("message %d of %d: %v", round, i, err)
					return
				}
				b.completed(t, started.TurnID)
				// The next message arrives shortly before, during or shortly after the replacement of the process.
				if round%2 == 0 {
					before := b.codex.Counters().Recycles
					b.eventually(t, "a recycling", func() bool { return b.codex.Counters().Recycles > before })
				}
			}
		})
	}
	senders.Wait()
	if n := b.codex.Counters().Recycles; n < rounds/2 {
		t.Errorf("only %d processes were recycled", n)
	}
	for i, thread := range threads {
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "last"))
		last := b.lastRequest()
		for round := range rounds {
			if n := strings.Count(last, fmt.Sprintf("message %d of %d.", round, i)); n != 1 {
				t.Errorf("message %d of %d is %d times in its session's history", round, i, n)
			}
		}
	}
	for _, s := range b.all() {
		if done, ok := s.Change.(runtime.TurnCompleted); ok && done.Status != runtime.TurnDone {
			t.Errorf("turn %s ended %s", done.TurnID, done.Status)
		}
		if s.Kind == runtime.SignalExited && !strings.Contains(s.Exit.Reason, "while it was idle") &&
			b.codex.Status().State != runtime.StateStopped {
			t.Errorf("a process ended with %+v", s.Exit)
		}
	}
}
