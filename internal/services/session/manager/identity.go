package manager

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// eventRuntimeRefused records a runtime's signal about another runtime's session.
const eventRuntimeRefused = "runtime.refused"

// resolver finds the sessions of runtime signals.
type resolver struct {
	db           *database.DB
	journal      *journal.Journal
	index        *live.Index
	storedThread func(ctx context.Context, runtimeName, id string) (live.Session, error)
	wantRoom     func()
	log          zerolog.Logger
	now          func() int64 // ms
}

// identify replaces the ids in a signal with the server's ids, if the view has its sessions; preload must run first.
// ours is false if the signal names another runtime's session.
func (r *resolver) identify(runtimeName string, signal *runtime.Signal) (ours bool) {
	for _, id := range []*string{&signal.ThreadID, &signal.Serves} {
		if *id == "" {
			continue
		}
		found, known := r.index.ByNative(runtimeName, *id)
		if _, anothers := r.index.Peek(*id); !known && anothers {
			return false
		}
		*id = found
	}
	return true
}

// preload loads the sessions of a batch into the view before the caller takes Service.order: reading them may be slow
// and must not block others. It returns their ids, without those that it could not read.
func (r *resolver) preload(runtimeName string, batch runtime.Batch) (ids []string) {
	for i := range batch.Signals {
		for _, named := range []string{batch.Signals[i].ThreadID, batch.Signals[i].Serves} {
			if named == "" {
				continue
			}
			if id := r.resolveSession(runtimeName, named); r.index.Has(id) {
				ids = append(ids, id)
			}
		}
		if opened, is := batch.Signals[i].Change.(runtime.ThreadOpened); is && opened.ParentID != "" {
			r.resolveSession(runtimeName, opened.ParentID)
		}
	}
	return ids
}

// resolveSession loads the session of a runtime's id into the view. It is the stored session with that id, else the
// one with that native id, else a new one.
func (r *resolver) resolveSession(runtimeName, threadID string) (id string) {
	if id, known := r.index.ByNative(runtimeName, threadID); known {
		return id
	}
	id = threadID
	t, read := r.index.Get(id)
	if !read {
		t, read = r.storedAgain(runtimeName, id)
	}
	if !t.Stored || t.Runtime != runtimeName {
		if native := r.nativeAgain(runtimeName, threadID); native != "" && native != id {
			id = native
			if t, read = r.storedAgain(runtimeName, id); t.Deleted {
				t.Native = threadID
			}
		}
	}
	if read && r.index.Put(id, t) {
		r.wantRoom()
	}
	return id
}

// storedAgain is storedThread for a signal: while the store is unavailable, it waits until the journal stops. After
// any other read error the session stays unknown, and the unit reads the rows itself.
func (r *resolver) storedAgain(runtimeName, id string) (t live.Session, read bool) {
	for {
		t, err := r.storedThread(context.Background(), runtimeName, id)
		if err == nil {
			return t, true
		}
		if !r.waitForStore(err) {
			r.log.Warn().Err(err).Str("session", id).
				Msg("cannot read a session; its next event has no title")
			return live.Session{Runtime: runtimeName}, false
		}
	}
}

// readPause is the pause between two reads of a session from an unavailable store.
const readPause = 200 * time.Millisecond

// waitForStore waits briefly if the error says that the store is unavailable. It returns false for any other error, or
// if the journal is stopped.
func (r *resolver) waitForStore(err error) bool {
	if !database.Transient(err) {
		return false
	}
	select {
	case <-time.After(readPause):
		return true
	case <-r.journal.Stopping():
		return false
	}
}

// nativeAgain is SessionOfNative for a signal; it waits as storedAgain does.
func (r *resolver) nativeAgain(runtimeName, nativeID string) string {
	for {
		id, err := store.SessionOfNative(context.Background(), r.db.Read(), runtimeName, nativeID)
		if err == nil {
			return id
		}
		if !r.waitForStore(err) {
			r.log.Warn().Err(err).Str("runtime", runtimeName).Str("thread", nativeID).
				Msg("cannot map a runtime's session; using the runtime's id")
			return ""
		}
	}
}

// ignoreForeign records a runtime's signal about another runtime's session. The signal changes nothing, and no client
// receives it.
func (r *resolver) ignoreForeign(runtimeName string, signal runtime.Signal) journal.Unit {
	at := r.now()
	named := signal.ThreadID + signal.Serves // only one of them is set
	r.log.Warn().Str("runtime", runtimeName).Str("generation", signal.Generation).Str("method", signal.Method).
		Str("session", named).
		Msg("event of a runtime for another runtime's session ignored; it is in the journal")
	return func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{Type: eventRuntimeRefused, Time: at, Source: runtimeName, Payload: encode(struct {
			Runtime    string             `json:"runtime"`
			Generation string             `json:"generation"`
			Kind       runtime.SignalKind `json:"kind"`
			Method     string             `json:"method,omitempty"`
			SessionID  string             `json:"sessionId"`
			Frame      any                `json:"frame,omitempty"`
		}{runtimeName, signal.Generation, signal.Kind, signal.Method, named, frameOf(signal)})}}, nil
	}
}

// refusing limits the delivery of a refusal: the runtime's next signal waits for it.
const refusing = 5 * time.Second

// ignoreStrange refuses the requests of a batch that no session can ask: they name another runtime's session, a
// deleted one or none. The journal stores such requests, but without a refusal the runtime would wait forever.
func (r *resolver) ignoreStrange(runtimeName string, batch runtime.Batch) {
	for _, signal := range batch.Signals {
		// The adapter itself refuses a request without a Change.
		if signal.Kind != runtime.SignalRequest || signal.Change == nil || batch.Refuse == nil {
			continue
		}
		named := signal
		if ours := r.identify(runtimeName, &named); ours && named.ThreadID != "" {
			if t, _ := r.index.Get(named.ThreadID); !t.Deleted {
				continue
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), refusing)
		err := batch.Refuse(ctx, signal)
		cancel()
		if err != nil {
			r.log.Warn().Err(err).Str("runtime", runtimeName).Str("method", signal.Method).Str("session",
				signal.ThreadID).
				Msg("a request without a session to ask could not be refused")
		}
	}
}

func frameOf(signal runtime.Signal) any {
	if len(signal.Raw) == 0 {
		return nil
	}
	return signal.Raw
}
