package codex

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// tracker has the loaded conversations and running turns of this runtime process. The reader feeds it in order, so a
// turn that ends before the answer to its turn/start does not count as running.
type tracker struct {
	mu      sync.Mutex
	changed chan struct{}
	threads map[string]*threadState
	// room is the number of threads above which the tracker removes the least recently used.
	room int
	// natives gets the ids in answers.
	natives *stdio.Natives
}

// keptThreads is the default of room.
const keptThreads = 4096

type threadState struct {
	loaded bool
	// parked means that this adapter unloaded the thread, which clients do not see. kept means that codex remembers
	// approvals for the whole session.
	parked, kept bool
	// stored means that codex has it on disk, where another process can load it.
	stored bool
	// using is the number of calls in progress, last the time of the last output or request. unloading is closed when
	// unloading ends.
	using     int
	last      time.Time
	unloading chan struct{}
	// commands are the commands without an end, by item.
	commands map[string]command
	// active is the running turn. announced is set after the adapter read its turn/started; before that, 0.101
	// refuses to steer it.
	active    string
	announced bool
	// ended is the last ended turn.
	ended string
	// starting admits one StartTurn at a time.
	starting chan struct{}
}

func newTracker() *tracker {
	return &tracker{changed: make(chan struct{}), threads: map[string]*threadState{}, room: keptThreads}
}

func (t *tracker) threadLocked(id string) *threadState {
	s := t.threads[id]
	if s == nil {
		if len(t.threads) >= t.room {
			t.forgetLocked()
		}
		s = &threadState{starting: make(chan struct{}, 1), last: time.Now()}
		t.threads[id] = s
	}
	return s
}

// forgetLocked frees space. It removes threads that are neither loaded nor in use. Clients still get notifications
// when codex unloads them.
func (t *tracker) forgetLocked() {
	idle := slices.DeleteFunc(slices.Collect(maps.Keys(t.threads)), func(id string) bool {
		s := t.threads[id]
		return s.loaded || s.active != "" || s.using > 0 || s.unloading != nil || len(s.commands) > 0
	})
	slices.SortFunc(idle, func(a, b string) int { return t.threads[a].last.Compare(t.threads[b].last) })
	for _, id := range idle[:min(len(idle), max(0, len(t.threads)-keptThreads))] {
		delete(t.threads, id)
	}
	t.room = max(keptThreads, len(t.threads)) * 9 / 8
}

func (t *tracker) update(id string, change func(*threadState)) {
	if id == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	change(t.threadLocked(id))
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *tracker) unloaded(id string) {
	t.update(id, func(s *threadState) { s.loaded, s.active, s.announced = false, "", false })
}

// notice applies a notification.
func (t *tracker) notice(signal runtime.Signal) {
	t.touch(signal.ThreadID)
	switch change := signal.Change.(type) {
	case runtime.ItemChanged:
		if change.Item.Type == wire.ItemCommand {
			t.command(signal.ThreadID, change, signal.ReceivedAt)
		}
		return
	case runtime.TurnStarted:
		t.update(signal.ThreadID, func(s *threadState) {
			if s.ended != change.TurnID {
				s.loaded, s.active, s.announced = true, change.TurnID, true
			}
		})
		return
	case runtime.TurnCompleted:
		t.update(signal.ThreadID, func(s *threadState) {
			s.ended, s.stored = change.TurnID, true
			if s.active == change.TurnID {
				s.active, s.announced = "", false
			}
		})
		return
	}
	switch signal.Method {
	case wire.MethodThreadStarted:
		t.update(signal.ThreadID, func(s *threadState) { s.loaded = true })
	case "thread/closed", "thread/archived", "thread/deleted":
		t.unloaded(signal.ThreadID)
	case "thread/status/changed":
		var named ids
		if json.Unmarshal(signal.Params, &named) == nil && named.Status.Type == "notLoaded" {
			t.unloaded(signal.ThreadID)
		}
	}
}

// answered applies a successful answer.
func (t *tracker) answered(method, thread string, result json.RawMessage) {
	switch method {
	case "thread/start", "thread/resume", "thread/fork":
		var named ids
		_ = json.Unmarshal(result, &named)
		t.update(t.natives.Known(named.Thread.ID), func(s *threadState) {
			s.loaded, s.parked, s.last = true, false, time.Now()
			s.stored = s.stored || method == "thread/resume"
		})
	case "thread/archive", "thread/delete":
		t.unloaded(thread)
	case "turn/start":
		var named ids
		_ = json.Unmarshal(result, &named)
		turn := t.natives.Known(named.Turn.ID)
		t.update(thread, func(s *threadState) {
			if turn != "" && s.ended != turn && s.active != turn {
				s.active, s.announced = turn, false
			}
		})
	}
}

func (t *tracker) loaded(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	return s != nil && s.loaded
}

// turn returns the running turn of a thread, "" if none is known. The channel is closed at the next change of any
// thread.
func (t *tracker) turn(id string) (active string, announced bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.threads[id]; s != nil {
		return s.active, s.announced, t.changed
	}
	return "", false, t.changed
}

// starting returns the lock of a thread's StartTurn.
func (t *tracker) starting(id string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.threadLocked(id).starting
}
