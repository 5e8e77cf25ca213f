package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

const (
	// backgroundStep is how often the background work of sessions that have some is listed again.
	backgroundStep = 3 * time.Second
	// backgroundPatience bounds one listing, backgroundAtOnce how many run at once.
	backgroundPatience = 5 * time.Second
	backgroundAtOnce   = 8
)

// backgroundWatcher knows which sessions may have background work, so that only those are looked at.
type backgroundWatcher struct {
	mu sync.Mutex
	// working are the sessions of this node that have some as far as is known.
	working map[string]bool
	// listing are those that are being listed; true once the runtime has said something newer of its own accord.
	listing map[string]bool
	wanted  map[string]bool
	wake    chan struct{}
}

func newBackgroundWatcher() *backgroundWatcher {
	return &backgroundWatcher{working: map[string]bool{}, listing: map[string]bool{}, wanted: map[string]bool{},
		wake: make(chan struct{}, 1)}
}

// want has a session listed soon.
func (w *backgroundWatcher) want(sessionIDs ...string) {
	w.mu.Lock()
	for _, id := range sessionIDs {
		w.wanted[id] = true
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take are the sessions to list now; all those that have some when all is set.
func (w *backgroundWatcher) take(all bool) (ids []string) {
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

// said notes what a runtime said of its own accord: a list that was asked for before is older.
func (w *backgroundWatcher) said(id string, works bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(id, works)
	if _, lists := w.listing[id]; lists {
		w.listing[id] = true
	}
}

// note keeps whether a session has background work. mu is held.
func (w *backgroundWatcher) note(id string, works bool) {
	if works {
		w.working[id] = true
	} else {
		delete(w.working, id)
	}
}

// begin notes that a session is being listed. end tells whether the list is still the newest, and notes what it says
// then; it is called once, in the order of commits.
func (w *backgroundWatcher) begin(id string) (end func(works bool) (newest bool)) {
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

// works tells whether a session has background work as far as is known.
func (w *backgroundWatcher) works(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.working[id]
}

// all are the sessions that have background work as far as is known.
func (w *backgroundWatcher) all() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.working {
		ids = append(ids, id)
	}
	return ids
}

// backgroundLoop lists the background work of sessions after each turn, and again as long as there is some, until ctx
// ends.
func (s *Service) backgroundLoop(ctx context.Context) {
	stored, err := store.ReadBackground(ctx, s.db.Read(), `node_id = $1`, s.opts.NodeID)
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn().Err(err).Msg("the background work of sessions could not be read; it is listed after their next turns")
	}
	for id := range stored {
		s.background.said(id, true)
		s.background.want(id)
	}
	ticker := time.NewTicker(backgroundStep)
	defer ticker.Stop()
	for {
		all := false
		select {
		case <-s.background.wake:
		case <-ticker.C:
			all = true
		case <-ctx.Done():
			return
		}
		s.listEach(ctx, s.background.take(all))
	}
}

func (s *Service) listEach(ctx context.Context, ids []string) {
	var listing sync.WaitGroup
	places := make(chan struct{}, backgroundAtOnce)
	for _, id := range ids {
		places <- struct{}{}
		listing.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, backgroundPatience)
			defer cancel()
			if _, err := s.Background(ctx, id); err != nil && ctx.Err() == nil && !session.Absent(err) &&
				!errors.Is(err, runtime.ErrUnavailable) {
				s.opts.Logger.Info().Err(err).Str("session", id).
					Msg("the background work of a session could not be listed; it is tried again after its next turn")
			}
		})
	}
	listing.Wait()
}

// Background lists the background work of a session as its runtime has it now, and stores it. A runtime that is not
// there, or has no such work, is not asked: what is stored counts. ErrNotFound, *DeletedError, *NotOwnerError.
func (s *Service) Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error) {
	session, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	lister, ok := runtime.Has[runtime.Backgrounder](adapter, runtime.OpTerminals)
	if !ok {
		return nil, nil
	}
	release, err := s.locks.Acquire(ctx, "background "+sessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	for {
		tasks, newest, err := s.listBackground(ctx, session, lister)
		if err != nil || newest {
			return tasks, err
		}
	}
}

func (s *Service) listBackground(ctx context.Context, session session.Session, lister runtime.Backgrounder) (tasks []session.BackgroundTask,
	newest bool, err error) {
	s.LoadView(session.Runtime, session.ID)
	generation, _ := s.index.Generation(session.Runtime, session.ID)
	if generation == "" { // it has no process, or the one of an earlier server is not attached to yet
		tasks, err = store.ReadBackgroundOf(ctx, s.db.Read(), session.ID)
		return tasks, true, err
	}
	end := s.background.begin(session.ID)
	found, err := lister.ListBackground(ctx, runtime.ResumeThread{ThreadID: session.ID, NativeID: session.RuntimeSessionID})
	if isWithoutBackground(err) {
		found, err = nil, nil
	}
	if err != nil {
		end(s.background.works(session.ID))
		return nil, false, err
	}
	if len(found) == 0 && !s.background.works(session.ID) {
		return nil, end(false), nil
	}
	err = s.InOrder(ctx, func() journal.Unit {
		at := s.now()
		if newest = end(len(found) > 0); !newest {
			return nothing
		}
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if mine, err := s.mine(ctx, tx, session.ID, session.Epoch); err != nil || !mine {
				return nil, err
			}
			return s.storeBackground(ctx, tx, backgroundReport{sessionID: session.ID, generation: generation, tasks: found, at: at})
		}
	})
	if err == nil && newest {
		tasks, err = store.ReadBackgroundOf(ctx, s.db.Read(), session.ID)
	}
	return tasks, newest, err
}

// wantBackground has the background work of a session listed after what may have changed it: the end of a turn, and of an
// item that outlived its turn.
func (s *Service) wantBackground(signal runtime.Signal) {
	switch change := signal.Change.(type) {
	case runtime.TurnCompleted:
		s.background.want(signal.ThreadID)
	case runtime.ItemChanged:
		if change.Done && s.background.works(signal.ThreadID) {
			s.background.want(signal.ThreadID)
		}
	}
}
