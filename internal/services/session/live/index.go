// Package live keeps the manager's data about sessions in memory: the live index of sessions, the running processes,
// and the load of each runtime.
//
// It must never know the store, the journal, or a runtime's adapter.
package live

import (
	"slices"
	"sync"

	"harness/internal/services/session"
	"harness/stream"
)

// Index answers questions about signals without a read of the store: the running turn of a session, and its title. The
// manager updates it in commit order, so an event's meta is correct at the event's position.
//
// The manager loads other sessions from the store on demand. It evicts sessions that have not been used for a while.
type Index struct {
	now      func() int64 // ms
	mu       sync.Mutex
	sessions map[string]*Session
	Max      int   // maximum number of sessions while idle ones can be evicted
	uses     int64 // counts uses of sessions
	trimmed  int64 // when (ms) Spare last ran its search
	// natives maps a runtime's own id to the session.
	natives map[nativeKey]string
	Limits  *Limits
	// live holds the generations of running processes. exited holds, for each process that serves a whole runtime, the
	// last generation that ended.
	live   map[ProcessKey]string
	exited map[string]string
}

// nativeKey is a runtime's id of a conversation.
type nativeKey struct{ runtime, id string }

// ProcessKey identifies a process of a runtime. Serves is the one session that it serves, "" for all.
type ProcessKey struct{ Runtime, Serves string }

// Session is one session in the index.
type Session struct {
	Runtime     string
	Native      string // the runtime's id, "" if it equals the session's
	exited      string // the last ended generation of its own process, "" once another one runs
	Stored      bool   // has a row, or a queued unit creates one
	Deleted     bool
	SystemOwned bool
	// Undecided means that it may belong to the worker session that is being opened (runtime.Signal.WorkerOpening).
	Undecided bool
	Title     string
	// NamedByUser reports that a user chose the title: an agent's title does not replace it.
	NamedByUser bool
	ProjectID   *string
	ActiveTurn  string
	Stopping    string // the turn that is being stopped, "" for none
	// Retrying is the running turn while it cannot reach its model, else "".
	Retrying string
	// Epoch is this node's ownership epoch, NotOwned if another node owns the session.
	Epoch int64
	// Trace belongs to the turn that started last, SendingTrace to a message in flight.
	Trace, SendingTrace session.Trace
	// NameChanges counts changes of the title and the project.
	NameChanges int
	// used is the value of Index.uses at the last use; usedAt is its time in ms.
	used, usedAt int64
	// ManagedAt is when (ms) a client last changed something that the runtime's listing also contains. A listing
	// requested earlier is out of date.
	ManagedAt int64
	// idle holds channels that are closed when no turn runs.
	idle []chan struct{}
	// finished lists the last turns that ended. A reply to turn/start may arrive after its turn ended.
	finished []string
}

const rememberedTurns = 8

// New returns an empty index. now returns the time in ms.
func New(now func() int64, limits *Limits) *Index {
	return &Index{now: now, Max: MaxSessions, sessions: map[string]*Session{}, natives: map[nativeKey]string{},
		Limits: limits, live: map[ProcessKey]string{}, exited: map[string]string{}}
}

// Get returns a copy of a session and counts as a use.
func (v *Index) Get(id string) (Session, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.sessions[id]; ok {
		v.use(t)
		return *t, true
	}
	return Session{}, false
}

// Peek is Get without counting as a use: it does not delay an eviction.
func (v *Index) Peek(id string) (Session, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.sessions[id]; ok {
		return *t, true
	}
	return Session{}, false
}

// Has reports whether the index has all these sessions. It counts as a use.
func (v *Index) Has(ids ...string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range ids {
		t, ok := v.sessions[id]
		if !ok {
			return false
		}
		v.use(t)
	}
	return true
}

func (v *Index) use(t *Session) {
	v.uses++
	t.used, t.usedAt = v.uses, v.now()
}

// Put adds a session that was read from the store, unless the index has it. It reports whether sessions should be
// evicted. It binds the runtime's id unless another session has that id.
func (v *Index) Put(id string, t Session) (full bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.sessions[id]
	if !ok {
		known = &t
		v.use(known)
		v.sessions[id] = known
		v.count(known, false)
	}
	if _, taken := v.natives[nativeKey{t.Runtime, t.Native}]; t.Native != "" && !taken {
		v.BindLocked(id, known, t.Native)
	}
	return v.isFull()
}

// ByNative finds a session by the id its runtime uses: the session's id or the runtime's own.
func (v *Index) ByNative(runtimeName, name string) (id string, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id, known = v.natives[nativeKey{runtimeName, name}]; known {
		return id, true
	}
	t, known := v.sessions[name]
	return name, known && t.Runtime == runtimeName
}

// SetNative binds another runtime id to a session.
func (v *Index) SetNative(id, native string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, known := v.sessions[id]; known {
		v.BindLocked(id, t, native)
	}
}

// BindLocked binds a runtime's id to a session. Call it inside Update, or with mu held.
func (v *Index) BindLocked(id string, t *Session, native string) {
	v.unbind(id, t)
	if native == id {
		native = ""
	}
	if t.Native = native; native != "" {
		v.natives[nativeKey{t.Runtime, native}] = id
	}
}

// unbind removes a session's binding unless another session has the id now. mu is held.
func (v *Index) unbind(id string, t *Session) {
	if key := (nativeKey{t.Runtime, t.Native}); v.natives[key] == id {
		delete(v.natives, key)
	}
}

// count reports the start or the end of a turn to the limits. had reports that a turn ran before. mu is held.
func (v *Index) count(t *Session, had bool) {
	switch has := t.ActiveTurn != ""; {
	case has && !had:
		v.Limits.turn(t.Runtime, 1)
	case had && !has:
		v.Limits.turn(t.Runtime, -1)
	}
}

// setIdle ends the running turn of a session, if any, because its process ended. mu is held.
func (v *Index) setIdle(t *Session) {
	had := t.ActiveTurn != ""
	if had {
		t.End(t.ActiveTurn) // a reply about the turn may still arrive
	}
	v.count(t, had)
}

// drop removes a session from the index. mu is held.
func (v *Index) drop(id string, t *Session) {
	v.unbind(id, t)
	delete(v.sessions, id)
}

// Update edits a session if it is in the index. Other sessions are read from the store on demand.
func (v *Index) Update(id string, edit func(*Session)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.sessions[id]; ok {
		v.use(t)
		had := t.ActiveTurn != ""
		edit(t)
		v.count(t, had)
	}
}

// ReleaseProject removes user sessions from a project, or just one session if only is set. It returns the removed
// ones.
func (v *Index) ReleaseProject(projectID, only string) (released []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, t := range v.sessions {
		if t.ProjectID != nil && *t.ProjectID == projectID && !t.SystemOwned && (only == "" || only == id) {
			t.SetProject(nil)
			released = append(released, id)
		}
	}
	return released
}

// Forget removes a session; its turn counts as ended.
func (v *Index) Forget(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.sessions[id]; ok {
		v.setIdle(t)
		v.drop(id, t)
	}
}

// ActiveTurn returns the running turn of a session, "" for none.
func (v *Index) ActiveTurn(id string) string {
	t, _ := v.Get(id)
	return t.ActiveTurn
}

// IsStopping reports whether the running turn of a session is being stopped.
func (v *Index) IsStopping(id string) bool {
	t, _ := v.Get(id)
	return t.Stopping != "" && t.Stopping == t.ActiveTurn
}

// SetTitle sets the title.
func (t *Session) SetTitle(title string) { t.Title, t.NameChanges = title, t.NameChanges+1 }

// SetProject sets the project, nil for none.
func (t *Session) SetProject(projectID *string) {
	t.ProjectID, t.NameChanges = projectID, t.NameChanges+1
}

// Begin sets the running turn.
func (t *Session) Begin(turnID string) {
	if turnID != "" {
		t.ActiveTurn = turnID
		t.traced(turnID)
	}
}

// End records that a turn ended.
func (t *Session) End(turnID string) {
	if t.ActiveTurn == turnID {
		t.SetIdle()
	}
	// Use a new slice: copies of the session share the old one.
	finished := append(slices.Clone(t.finished), turnID)
	if len(finished) > rememberedTurns {
		finished = finished[len(finished)-rememberedTurns:]
	}
	t.finished = finished
}

// SetIdle records that no turn runs.
func (t *Session) SetIdle() {
	t.ActiveTurn, t.Stopping, t.Retrying = "", "", ""
	for _, idle := range t.idle {
		close(idle)
	}
	t.idle = nil
}

// WhenIdle returns a channel that is closed as soon as no turn of the session runs.
func (v *Index) WhenIdle(id string) <-chan struct{} {
	idle := make(chan struct{})
	v.mu.Lock()
	defer v.mu.Unlock()
	if t, ok := v.sessions[id]; ok && t.ActiveTurn != "" {
		t.idle = append(t.idle, idle)
	} else {
		close(idle)
	}
	return idle
}

// AcceptTurn records the turn that a start reply names, unless the turn's end arrived before the reply.
func (t *Session) AcceptTurn(turnID string) {
	t.traced(turnID)
	if !slices.Contains(t.finished, turnID) {
		t.ActiveTurn = turnID
	}
}

// Meta returns the part of an event's meta about its session.
func (t Session) Meta(id string) stream.Meta {
	if t.Deleted {
		return stream.Meta{Purged: true, SystemOwned: t.SystemOwned}
	}
	return stream.Meta{SystemOwned: t.SystemOwned || t.Undecided,
		Session: &stream.SessionRef{ID: id, Title: t.Title, ProjectID: t.ProjectID}}
}

// TraceOf returns the trace of a turn if it is the last turn that started in the session, else "".
func (v *Index) TraceOf(id, turnID string) (traceID, spanID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.sessions[id]; t != nil && t.Trace.TurnID == turnID {
		return t.Trace.TraceID, t.Trace.SpanID
	}
	return "", ""
}

// Len returns the number of sessions in the index.
func (v *Index) Len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.sessions)
}

// MaxSessions is the maximum number of sessions in the index while idle ones can be evicted. Sessions used within
// recentUse (ms) stay: a reply or a listing requested earlier may still be compared with them.
const (
	MaxSessions = 4096
	recentUse   = 60_000
)

// resting reports whether the store has everything that matters about the session, once queued units are committed.
func (t *Session) resting() bool { return t.ActiveTurn == "" && len(t.idle) == 0 }

// isFull requires mu.
func (v *Index) isFull() bool { return len(v.sessions) > v.Max+v.Max/8 }

// Spare lists the least recently used sessions beyond Max, with their last uses; none if there is room. It searches at
// most once a second.
func (v *Index) Spare() map[string]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if !v.isFull() || now-v.trimmed < 1000 {
		return nil
	}
	v.trimmed = now
	type use struct {
		id string
		at int64
	}
	var uses []use
	for id, t := range v.sessions {
		if t.resting() && now-t.usedAt >= recentUse {
			uses = append(uses, use{id, t.used})
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return int(a.at - b.at) })
	spare := map[string]int64{}
	for _, one := range uses[:min(len(uses), len(v.sessions)-v.Max)] {
		spare[one.id] = one.at
	}
	return spare
}

// Evict removes sessions that have not been used since Spare listed them.
func (v *Index) Evict(spare map[string]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, used := range spare {
		if t, ok := v.sessions[id]; ok && t.used == used && t.resting() {
			v.drop(id, t)
		}
	}
}
