package manager

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// adoptPage is the number of conversations that one runtime call and one transaction import.
const adoptPage = 100

// adoption is the work list of the background adopter.
type adoption struct {
	mu   sync.Mutex
	todo todo
	wake wake.Signal
}

// todo cannot grow beyond the existing runtimes and sessions.
type todo struct {
	runtimes map[string]bool   // to list
	threads  map[string]string // to look up in their runtimes: thread id → runtime
	again    map[string]bool   // sessions that may be out of date in the view
	describe map[string]string // sessions with a possibly changed runtime description: session id → runtime
	room     bool              // the view holds too many sessions
}

func newTodo() todo {
	return todo{runtimes: map[string]bool{}, threads: map[string]string{}, again: map[string]bool{},
		describe: map[string]string{}}
}

func newAdoption() *adoption { return &adoption{todo: newTodo(), wake: wake.New()} }

func (a *adoption) wantAll(runtimeName string) {
	a.note(func(t *todo) { t.runtimes[runtimeName] = true })
}

func (a *adoption) want(runtimeName, threadID string) {
	a.note(func(t *todo) { t.threads[threadID] = runtimeName })
}

func (a *adoption) wantAgain(sessionID string) {
	a.note(func(t *todo) { t.again[sessionID] = true })
}

func (a *adoption) wantDescription(runtimeName, sessionID string) {
	a.note(func(t *todo) { t.describe[sessionID] = runtimeName })
}

func (a *adoption) wantRoom() {
	a.note(func(t *todo) { t.room = true })
}

func (a *adoption) note(add func(*todo)) {
	a.mu.Lock()
	add(&a.todo)
	a.mu.Unlock()
	a.wake.Set()
}

func (a *adoption) take() todo {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.todo
	a.todo = newTodo()
	return taken
}

// adoptNoted works through the list once. It retries failures when the runtime next starts.
func (s *Service) adoptNoted(ctx context.Context) (again time.Duration) {
	todo := s.adoption.take()
	for id := range todo.again {
		if err := s.refresh(ctx, id); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("session", id).
				Msg("cannot reload a session; its next event may have an old title or project")
		}
	}
	if todo.room {
		s.Slots.makeRoom(ctx)
	}
	for threadID, name := range todo.threads {
		if err := s.adoptOne(ctx, name, threadID); err != nil && ctx.Err() == nil {
			s.opts.Logger.Debug().Err(err).Str("session", threadID).
				Msg("cannot read a conversation from its runtime; keeping only its row")
		}
	}
	for id, name := range todo.describe {
		if err := s.importer.refreshDescription(ctx, name, id); err != nil && ctx.Err() == nil {
			s.opts.Logger.Debug().Err(err).Str("session", id).
				Msg("cannot read a session from its runtime; keeping the stored description")
		}
	}
	for name := range todo.runtimes {
		if err := s.adoptAll(ctx, name); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("runtime", name).
				Msg("stored conversations could not all be listed; the missing ones are adopted when they are used")
		}
		s.importer.imports.wantAll()
		if err := s.Rollbacks.SettleRollbacks(ctx, name); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("runtime", name).
				Msg("cannot check for rolled back turns; checking again before the next turn")
		}
		if err := s.Rewinds.SettleAll(ctx, name); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("runtime", name).Msg("a rewind of a session is not finished; trying again before its next turn")
		}
		if err := s.Agents.SweepWorkers(ctx, s.begun); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Msg("worker sessions that have no owner could not all be removed")
		}
	}
	return 0
}

// adoptOne asks the runtime about a conversation known only by its id.
func (s *Service) adoptOne(ctx context.Context, runtimeName, threadID string) error {
	stored, err := store.ReadSession(ctx, s.db.Read(), threadID)
	if err == nil && string(stored.Thread) != store.PlaceholderThread {
		return nil // created here since
	}
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	adapter, err := s.Registry.Adapter(runtimeName)
	if err != nil {
		return err
	}
	historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory)
	if !ok {
		return nil // only the bare row is known
	}
	asked := s.now()
	t, err := historian.ReadThread(ctx, cmp.Or(stored.RuntimeSessionID, threadID), false)
	if err != nil {
		return err
	}
	if err := s.storeThreads(ctx, runtimeName, []runtime.Thread{t}, asked); err != nil {
		return err
	}
	s.importer.imports.want(threadID)
	return nil
}

func (s *Service) adoptAll(ctx context.Context, runtimeName string) error {
	adapter, err := s.Registry.Adapter(runtimeName)
	if err != nil {
		return err
	}
	historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory)
	if !ok {
		return nil
	}
	for _, archived := range []bool{false, true} {
		for cursor := ""; ; {
			asked := s.now()
			page, err := historian.ListThreads(ctx, runtime.ListThreads{Cursor: cursor, Limit: adoptPage, Archived: archived})
			if err != nil {
				return err
			}
			for i := range page.Threads {
				page.Threads[i].Archived = archived
			}
			if err := s.storeThreads(ctx, runtimeName, page.Threads, asked); err != nil {
				return err
			}
			if page.NextCursor == "" || page.NextCursor == cursor {
				break
			}
			cursor = page.NextCursor
		}
	}
	return nil
}

// storeThreads stores a runtime's descriptions of its conversations; asked is the time (ms) of the request. It puts
// new titles into the view. It does not undo later changes by clients.
func (s *Service) storeThreads(ctx context.Context, runtimeName string, threads []runtime.Thread, asked int64) error {
	if len(threads) == 0 {
		return nil
	}
	at := s.now()
	err := s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		for _, t := range threads {
			// Check this in commit order: the view already has every change made before this unit.
			if known, ok := s.knownConversation(runtimeName, t); ok && known.ManagedAt >= asked {
				continue
			}
			if err := store.StoreThread(ctx, tx, runtimeName, s.opts.NodeID, t, at); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	for _, t := range threads {
		title := store.SessionOfThread(runtimeName, "", t, at).Title
		if id, ok := s.index.ByNative(runtimeName, t.Native()); ok {
			s.index.Update(id, func(known *live.Session) {
				if known.Title == "" {
					known.SetTitle(title)
				}
			})
		}
	}
	return nil
}

// knownConversation returns the view's data about a conversation that its runtime describes.
func (s *Service) knownConversation(runtimeName string, t runtime.Thread) (live.Session, bool) {
	id, ok := s.index.ByNative(runtimeName, t.Native())
	if !ok {
		return live.Session{}, false
	}
	return s.index.Get(id)
}
