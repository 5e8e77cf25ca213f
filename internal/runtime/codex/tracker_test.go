package codex

import (
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	"harness/internal/runtime"
)

// 100,000 conversations are opened, used and unloaded. The memory for them does not grow. The tracker keeps all data
// of those that are loaded or have running work.
func TestTheTrackerForgetsIdleConversations(t *testing.T) { // not in parallel: other tests' memory would count
	turns := newTracker()
	use := func(id string) {
		if err := turns.enter(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		turns.notice(runtime.Signal{ThreadID: id, Method: "thread/started"})
		turns.notice(runtime.Signal{ThreadID: id, Change: runtime.TurnStarted{TurnID: "turn of " + id}})
	}
	end := func(id string) {
		turns.notice(runtime.Signal{ThreadID: id, Change: runtime.TurnCompleted{TurnID: "turn of " + id}})
		turns.release(id)
	}
	park := func(id string) {
		if !turns.beginUnload(id, time.Now().Add(time.Hour)) {
			t.Fatalf("%s is not idle", id)
		}
		turns.endUnload(id, true)
	}
	use("running")
	use("loaded")
	end("loaded")
	use("called")
	end("called")
	park("called")
	if err := turns.enter(t.Context(), "called"); err != nil { // a caller is about to load it again
		t.Fatal(err)
	}
	starting := turns.starting("called")
	come := func(from, to int) (heap uint64) {
		for n := from; n < to; n++ {
			id := fmt.Sprintf("0199f5c4-0000-7000-8000-%012d", n)
			use(id)
			end(id)
			park(id)
		}
		goruntime.GC()
		var memory goruntime.MemStats
		goruntime.ReadMemStats(&memory)
		return memory.HeapAlloc
	}
	some := come(0, 10_000)
	many := come(10_000, 100_000)
	t.Logf("%d KiB after 10,000 conversations, %d KiB after 100,000; %d remembered", some>>10, many>>10,
		len(turns.threads))
	if len(turns.threads) > keptThreads*9/8+1 || many > some+4<<20 {
		t.Errorf("%d conversations are remembered, %d KiB after 10,000 of them and %d KiB after 100,000", len(turns.threads),
			some>>10, many>>10)
	}
	if last := fmt.Sprintf("0199f5c4-0000-7000-8000-%012d", 99_999); !turns.present(last) || !turns.stored(last) {
		t.Error("the one used last is forgotten")
	}
	if active, _, _ := turns.turn("running"); active != "turn of running" || !turns.loaded("loaded") ||
		turns.starting("called") != starting {
		t.Errorf("turn %q runs, loaded %t: one in use was forgotten", active, turns.loaded("loaded"))
	}
	turns.release("called")
}
