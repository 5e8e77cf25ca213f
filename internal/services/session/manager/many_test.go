package manager

import (
	goruntime "runtime"
	"testing"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session/live"
	"harness/tests/dbtest"
)

// Sessions that are used and then left idle do not take memory in proportion to their number. The test reads 100,000
// sessions, and runs a turn in some thousands of them.
func TestManySessionsComeAndGo(t *testing.T) { // not in parallel: other tests' memory would count
	k := open(t, dbtest.Open(t, database.SQLite), "node")
	look := func() { k.LoadView("codex", ids.New()) }
	running := func() {
		id, turn := ids.New(), ids.New()
		k.fake.begin(id, turn)
		k.fake.item(id, turn, runtime.Item{ID: turn, Type: "agentMessage", Role: "assistant", Content: "done"}, true)
		k.fake.end(id, turn, runtime.TurnDone)
	}
	come := func(count int, act func()) (heap uint64) {
		for range count {
			act()
			k.ahead.Add(int64(100 * time.Millisecond)) // room is made at most once a second
		}
		k.eventually("there is room", func() bool {
			k.ahead.Add(int64(time.Second))
			k.adoption.wantRoom()
			return k.index.Len() <= live.MaxSessions*9/8
		})
		k.flush()
		goruntime.GC()
		var memory goruntime.MemStats
		goruntime.ReadMemStats(&memory)
		return memory.HeapAlloc
	}
	come(live.MaxSessions, look)
	for _, sessions := range []struct {
		name string
		some int
		many int
		act  func()
	}{{"looked at", 10_000, 90_000, look}, {"lived in", 1000, 4000, running}} {
		some := come(sessions.some, sessions.act)
		many := come(sessions.many, sessions.act)
		t.Logf("%s: %d KiB after %d sessions, %d KiB after %d more; %d held", sessions.name, some>>10, sessions.some,
			many>>10, sessions.many, k.index.Len())
		if many > some+2<<20 {
			t.Errorf("sessions that are %s take %d KiB after %d of them, %d KiB after %d more", sessions.name, some>>10,
				sessions.some, many>>10, sessions.many)
		}
	}
}
