package manager

import (
	"slices"
	"sync"

	"harness/internal/services/session"
	"harness/stream"
)

// view is what must be known the moment a signal arrives, without asking the store: who runs a turn, how a session is
// called. It is written in commit order (Service.order), so an event's meta says what was true at the event's place in
// the journal. What is not in it is read from the store when it is needed; what nobody needed for a while is left out
// again (evict.go).
type view struct {
	now     func() int64 // ms
	mu      sync.Mutex
	threads map[string]*thread
	keep    int   // how many threads it holds when it can
	uses    int64 // counts looks at threads
	trimmed int64 // when (ms) it was last tried to make room
	// natives are the threads whose runtime has an id of its own for them.
	natives map[nativeKey]string
	limits  *limits
	// live are the running generations, exited the last one that ended of each process that is for a whole runtime.
	live   map[processKey]string
	exited map[string]string
}

// nativeKey is a runtime's own id of a conversation.
type nativeKey struct{ runtime, id string }

// processKey tells the processes of a runtime apart: serves is the one session it is for, "" when it is for all.
type processKey struct{ runtime, serves string }

// thread is one session in the view.
type thread struct {
	runtime     string
	native      string // the runtime's own id, "" when that is the session's
	exited      string // the generation of its own process that ended last, "" once another one runs
	known       bool   // has a row, or a queued unit makes one
	deleted     bool
	systemOwned bool
	// undecided: it may be the worker's conversation that is being opened (runtime.Signal.WorkerOpening).
	undecided  bool
	title      string
	projectID  *string
	activeTurn string
	stopping   string // the turn that is being stopped, "" for none
	// retrying is the running turn while it cannot reach its model, "" else.
	retrying string
	// epoch is that under which this node owns it, notOwned when another one does.
	epoch int64
	// trace is that of the turn that began last, sending that of a message on its way.
	trace, sending session.Trace
	// named counts changes of title and project.
	named int
	// used is when it was last looked at, as a count of looks and in ms.
	used, usedAt int64
	// managed is when (ms) a client last changed what the runtime's listing also tells; a listing asked for earlier is out
	// of date.
	managed int64
	// idle are closed when no turn runs any more.
	idle []chan struct{}
	// finished are the turns that ended last: a turn/start reply may come after its turn's end.
	finished []string
}

const rememberedTurns = 8

func newView(now func() int64, limits *limits) *view {
	return &view{now: now, keep: keptThreads, threads: map[string]*thread{}, natives: map[nativeKey]string{},
		limits: limits, live: map[processKey]string{}, exited: map[string]string{}}
}

// get returns a copy of a thread.
func (v *view) get(id string) (thread, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.threads[id]; ok {
		v.use(t)
		return *t, true
	}
	return thread{}, false
}

// peek is get by somebody who does not need the thread: it may be left out as if nobody had looked.
func (v *view) peek(id string) (thread, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.threads[id]; ok {
		return *t, true
	}
	return thread{}, false
}

// holds tells whether it has all these threads; they count as looked at.
func (v *view) holds(ids ...string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range ids {
		t, ok := v.threads[id]
		if !ok {
			return false
		}
		v.use(t)
	}
	return true
}

func (v *view) use(t *thread) {
	v.uses++
	t.used, t.usedAt = v.uses, v.now()
}

// put adds a thread read from the store, unless it is there already, and tells whether it is time to leave others out.
// What its runtime calls it is noted unless another one has that name.
func (v *view) put(id string, t thread) (crowded bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.threads[id]
	if !ok {
		known = &t
		v.use(known)
		v.threads[id] = known
		v.count(known, false)
	}
	if _, taken := v.natives[nativeKey{t.runtime, t.native}]; t.native != "" && !taken {
		v.bind(id, known, t.native)
	}
	return v.crowded()
}

// named finds a thread by what a runtime calls it: its session's id, or its own.
func (v *view) named(runtimeName, name string) (id string, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id, known = v.natives[nativeKey{runtimeName, name}]; known {
		return id, true
	}
	t, known := v.threads[name]
	return name, known && t.runtime == runtimeName
}

// rename notes that a runtime calls a thread otherwise from now on.
func (v *view) rename(id, native string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, known := v.threads[id]; known {
		v.bind(id, t, native)
	}
}

// bind notes what a runtime calls a thread. mu is held.
func (v *view) bind(id string, t *thread, native string) {
	v.unbind(id, t)
	if native == id {
		native = ""
	}
	if t.native = native; native != "" {
		v.natives[nativeKey{t.runtime, native}] = id
	}
}

// unbind takes back what bind noted, unless another thread has the name by now. mu is held.
func (v *view) unbind(id string, t *thread) {
	if key := (nativeKey{t.runtime, t.native}); v.natives[key] == id {
		delete(v.natives, key)
	}
}

// count tells the limits when a thread's turn began or ended; had says whether one ran before. mu is held.
func (v *view) count(t *thread, had bool) {
	switch has := t.activeTurn != ""; {
	case has && !had:
		v.limits.turn(t.runtime, 1)
	case had && !has:
		v.limits.turn(t.runtime, -1)
	}
}

// rest notes that the turn of a thread, if one runs, has ended with its process. mu is held.
func (v *view) rest(t *thread) {
	had := t.activeTurn != ""
	if had {
		t.end(t.activeTurn) // a reply about it may still come
	}
	v.count(t, had)
}

// drop takes a thread out of the view. mu is held.
func (v *view) drop(id string, t *thread) {
	v.unbind(id, t)
	delete(v.threads, id)
}

// change edits a thread, if it is in the view. What is not in the view is read from the store when it is needed.
func (v *view) change(id string, edit func(*thread)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.threads[id]; ok {
		v.use(t)
		had := t.activeTurn != ""
		edit(t)
		v.count(t, had)
	}
}

// release takes the people's threads of a project out of it, only the one of the given id unless that is "", and
// returns which.
func (v *view) release(projectID, only string) (released []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, t := range v.threads {
		if t.projectID != nil && *t.projectID == projectID && !t.systemOwned && (only == "" || only == id) {
			t.place(nil)
			released = append(released, id)
		}
	}
	return released
}

func (v *view) forget(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.threads[id]; ok {
		v.rest(t)
		v.drop(id, t)
	}
}

// active is the running turn of a session, "" for none.
func (v *view) active(id string) string {
	t, _ := v.get(id)
	return t.activeTurn
}

// stopping tells whether the running turn of a session is being stopped.
func (v *view) stopping(id string) bool {
	t, _ := v.get(id)
	return t.stopping != "" && t.stopping == t.activeTurn
}

// call and place note a title and a project.
func (t *thread) call(title string)       { t.title, t.named = title, t.named+1 }
func (t *thread) place(projectID *string) { t.projectID, t.named = projectID, t.named+1 }

func (t *thread) begin(turnID string) {
	if turnID != "" {
		t.activeTurn = turnID
		t.traced(turnID)
	}
}

func (t *thread) end(turnID string) {
	if t.activeTurn == turnID {
		t.rest()
	}
	// A fresh slice: copies of the thread share the old one.
	finished := append(slices.Clone(t.finished), turnID)
	if len(finished) > rememberedTurns {
		finished = finished[len(finished)-rememberedTurns:]
	}
	t.finished = finished
}

// rest notes that no turn runs.
func (t *thread) rest() {
	t.activeTurn, t.stopping, t.retrying = "", "", ""
	for _, idle := range t.idle {
		close(idle)
	}
	t.idle = nil
}

// whenIdle is closed as soon as no turn of the session runs.
func (v *view) whenIdle(id string) <-chan struct{} {
	idle := make(chan struct{})
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.threads[id]; ok && t.activeTurn != "" {
		t.idle = append(t.idle, idle)
	} else {
		close(idle)
	}
	return idle
}

// accepted notes the turn a start reply names, unless that turn's end overtook the reply.
func (t *thread) accepted(turnID string) {
	t.traced(turnID)
	if !slices.Contains(t.finished, turnID) {
		t.activeTurn = turnID
	}
}

// meta is the part of an event's meta that tells about its session.
func (t thread) meta(id string) stream.Meta {
	if t.deleted {
		return stream.Meta{Purged: true, SystemOwned: t.systemOwned}
	}
	return stream.Meta{SystemOwned: t.systemOwned || t.undecided,
		Session: &stream.SessionRef{ID: id, Title: t.title, ProjectID: t.projectID}}
}
