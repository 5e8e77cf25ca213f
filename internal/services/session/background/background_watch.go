package background

import (
	"context"
	"errors"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

const (
	// backgroundStep is the interval at which the server lists the background work of sessions that have any.
	backgroundStep = 3 * time.Second
	// backgroundPatience limits one listing, backgroundAtOnce the number of concurrent listings.
	backgroundPatience = 5 * time.Second
	backgroundAtOnce   = 8
)

// Watch records which sessions may have background work, so that the server lists only those.
type Watch struct {
	mu sync.Mutex
	// working holds the sessions of this node known to have background work.
	working map[string]bool
	// listing holds the sessions being listed; the value is true once the runtime has sent a newer report unprompted.
	listing map[string]bool
	wanted  map[string]bool
	wake    wake.Signal
}

// NewWatch builds a Watch.
func NewWatch() *Watch {
	return &Watch{working: map[string]bool{}, listing: map[string]bool{}, wanted: map[string]bool{},
		wake: wake.New()}
}

// Want requests a listing of sessions.
func (w *Watch) Want(sessionIDs ...string) {
	w.mu.Lock()
	for _, id := range sessionIDs {
		w.wanted[id] = true
	}
	w.mu.Unlock()
	w.wake.Set()
}

// take returns the sessions to list now; if all is set, it includes every session with background work.
func (w *Watch) take(all bool) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all {
		for id := range w.working {
			w.wanted[id] = true
		}
	}
	for id := range w.wanted {
		ids = append(ids, id)
	}
	clear(w.wanted)
	return ids
}

// Said records a report that a runtime sent unprompted. It supersedes listings requested earlier.
func (w *Watch) Said(id string, works bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(id, works)
	if _, lists := w.listing[id]; lists {
		w.listing[id] = true
	}
}

// note records whether a session has background work. mu is held.
func (w *Watch) note(id string, works bool) {
	if works {
		w.working[id] = true
	} else {
		delete(w.working, id)
	}
}

// begin records that a session is being listed. end reports whether the listing is still the newest, and if so records
// its result. Call end once, in commit order.
func (w *Watch) begin(id string) (end func(works bool) (newest bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listing[id] = false
	return func(works bool) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		newest := !w.listing[id]
		delete(w.listing, id)
		if newest {
			w.note(id, works)
		}
		return newest
	}
}

// works reports whether a session is known to have background work.
func (w *Watch) works(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.working[id]
}

// All returns the sessions known to have background work.
func (w *Watch) All() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.working {
		ids = append(ids, id)
	}
	return ids
}

// BackgroundLoop lists the background work of sessions after each turn. It repeats that while a session has any, until
// ctx ends.
func (m *Monitor) BackgroundLoop(ctx context.Context) {
	stored, err := store.ReadBackground(ctx, m.options.DB.Read(), `node_id = $1`, m.options.NodeID)
	if err != nil && ctx.Err() == nil {
		m.options.Logger.Warn().Err(err).Msg("cannot read background work of sessions; retrying after their next turns")
	}
	for id := range stored {
		m.options.Watch.Said(id, true)
		m.options.Watch.Want(id)
	}
	ticker := time.NewTicker(backgroundStep)
	defer ticker.Stop()
	for {
		all := false
		select {
		case <-m.options.Watch.wake:
		case <-ticker.C:
			all = true
		case <-ctx.Done():
			return
		}
		m.listEach(ctx, m.options.Watch.take(all))
	}
}

func (m *Monitor) listEach(ctx context.Context, ids []string) {
	var listing sync.WaitGroup
	places := make(chan struct{}, backgroundAtOnce)
	for _, id := range ids {
		places <- struct{}{}
		listing.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, backgroundPatience)
			defer cancel()
			if _, err := m.Background(ctx, id); err != nil && ctx.Err() == nil && !session.Absent(err) &&
				!errors.Is(err, runtime.ErrUnavailable) {
				m.options.Logger.Info().Err(err).Str("session", id).
					Msg("cannot list background work of a session; retrying after its next turn")
			}
		})
	}
	listing.Wait()
}

// Background lists the current background work of a session in its runtime, and stores it. It returns the stored work
// if the runtime is unavailable or has no background work. Errors are ErrNotFound, *DeletedError and *NotOwnerError.
func (m *Monitor) Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error) {
	session, adapter, err := m.options.Owned(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	lister, ok := runtime.Has[runtime.Backgrounder](adapter, runtime.OpTerminals)
	if !ok {
		return nil, nil
	}
	release, err := m.options.Locks.Acquire(ctx, "background "+sessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	for {
		tasks, newest, err := m.listBackground(ctx, session, lister)
		if err != nil || newest {
			return tasks, err
		}
	}
}

func (m *Monitor) listBackground(ctx context.Context, session session.Session, lister runtime.Backgrounder) (tasks []session.BackgroundTask,
	newest bool, err error) {
	m.options.Sessions.LoadView(session.Runtime, session.ID)
	generation, _ := m.options.Index.Generation(session.Runtime, session.ID)
	if generation == "" { // no process runs, or that of an earlier server is not attached yet
		tasks, err = store.ReadBackgroundOf(ctx, m.options.DB.Read(), session.ID)
		return tasks, true, err
	}
	end := m.options.Watch.begin(session.ID)
	found, err := lister.ListBackground(ctx, runtime.ResumeThread{ThreadID: session.ID, NativeID: session.RuntimeSessionID})
	if isWithoutBackground(err) {
		found, err = nil, nil
	}
	if err != nil {
		end(m.options.Watch.works(session.ID))
		return nil, false, err
	}
	if len(found) == 0 && !m.options.Watch.works(session.ID) {
		return nil, end(false), nil
	}
	err = m.options.Sessions.InOrder(ctx, func() journal.Unit {
		at := m.options.Now()
		if newest = end(len(found) > 0); !newest {
			return func(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }
		}
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if mine, err := m.options.Mine(ctx, tx, session.ID, session.Epoch); err != nil || !mine {
				return nil, err
			}
			return m.StoreBackground(ctx, tx, Report{SessionID: session.ID, Generation: generation, Tasks: found, At: at})
		}
	})
	if err == nil && newest {
		tasks, err = store.ReadBackgroundOf(ctx, m.options.DB.Read(), session.ID)
	}
	return tasks, newest, err
}

// WantBackground requests a listing of a session's background work after a possible change: the end of a turn, or of an
// item that outlived its turn.
func (m *Monitor) WantBackground(signal runtime.Signal) {
	switch change := signal.Change.(type) {
	case runtime.TurnCompleted:
		m.options.Watch.Want(signal.ThreadID)
	case runtime.ItemChanged:
		if change.Done && m.options.Watch.works(signal.ThreadID) {
			m.options.Watch.Want(signal.ThreadID)
		}
	}
}
