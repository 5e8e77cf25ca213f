package session

import (
	"context"
	"errors"
	"sync"

	"harness/database"
	"harness/journal"
	"harness/runtime"
)

// adoptPage is how many conversations one runtime call and one transaction take in.
const adoptPage = 100

// adoption is the to-do list of the background worker: runtimes to list, single conversations to look up. It is bounded by what exists.
type adoption struct {
	mu       sync.Mutex
	runtimes map[string]bool
	threads  map[string]string // thread id → runtime
	answers  []string          // generations to be told decisions again
	wake     chan struct{}
}

func newAdoption() *adoption {
	return &adoption{runtimes: map[string]bool{}, threads: map[string]string{}, wake: make(chan struct{}, 1)}
}

func (a *adoption) wantAll(runtimeName string) {
	a.mu.Lock()
	a.runtimes[runtimeName] = true
	a.mu.Unlock()
	a.signal()
}

func (a *adoption) want(runtimeName, threadID string) {
	a.mu.Lock()
	a.threads[threadID] = runtimeName
	a.mu.Unlock()
	a.signal()
}

func (a *adoption) wantAnswers(generation string) {
	a.mu.Lock()
	a.answers = append(a.answers, generation)
	a.mu.Unlock()
	a.signal()
}

func (a *adoption) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *adoption) take() (answers []string, runtimes map[string]bool, threads map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answers, runtimes, threads = a.answers, a.runtimes, a.threads
	a.answers, a.runtimes, a.threads = nil, map[string]bool{}, map[string]string{}
	return answers, runtimes, threads
}

// adoptLoop works the list off until ctx ends. What fails is tried again when the runtime starts the next time.
func (s *Service) adoptLoop(ctx context.Context) {
	for {
		select {
		case <-s.adoption.wake:
		case <-ctx.Done():
			return
		}
		answers, runtimes, threads := s.adoption.take()
		for _, generation := range answers {
			if err := s.answerAgain(ctx, generation); err != nil && ctx.Err() == nil {
				s.opts.Logger.Warn().Err(err).Msg("decisions from before the restart could not be told to the runtime")
			}
		}
		for threadID, name := range threads {
			if err := s.adoptOne(ctx, name, threadID); err != nil && ctx.Err() == nil {
				s.opts.Logger.Debug().Err(err).Str("session", threadID).Msg("conversation could not be read from its runtime; keeping the bare row")
			}
		}
		for name := range runtimes {
			if err := s.adoptAll(ctx, name); err != nil && ctx.Err() == nil {
				s.opts.Logger.Warn().Err(err).Str("runtime", name).
					Msg("stored conversations could not all be listed; the missing ones are adopted when they are used")
			}
		}
	}
}

// adoptOne asks the runtime about a conversation of which only the id is known.
func (s *Service) adoptOne(ctx context.Context, runtimeName, threadID string) error {
	stored, err := readSession(ctx, s.db.Read(), threadID)
	if err == nil && string(stored.Thread) != placeholderThread {
		return nil // created here meanwhile
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	adapter, err := s.adapter(runtimeName)
	if err != nil {
		return err
	}
	asked := s.now()
	t, err := adapter.ReadThread(ctx, threadID, false)
	if err != nil {
		return err
	}
	return s.takeIn(ctx, runtimeName, []runtime.Thread{t}, asked)
}

func (s *Service) adoptAll(ctx context.Context, runtimeName string) error {
	adapter, err := s.adapter(runtimeName)
	if err != nil {
		return err
	}
	if !adapter.Capabilities().ListThreads {
		return nil
	}
	for _, archived := range []bool{false, true} {
		for cursor := ""; ; {
			asked := s.now()
			page, err := adapter.ListThreads(ctx, runtime.ListThreads{Cursor: cursor, Limit: adoptPage, Archived: archived})
			if err != nil {
				return err
			}
			for i := range page.Threads {
				page.Threads[i].Archived = archived
			}
			if err := s.takeIn(ctx, runtimeName, page.Threads, asked); err != nil {
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

// takeIn stores what a runtime said, asked at a time (ms), of its conversations, and lets the view know titles it did not have. What a
// client changed since is not undone.
func (s *Service) takeIn(ctx context.Context, runtimeName string, threads []runtime.Thread, asked int64) error {
	if len(threads) == 0 {
		return nil
	}
	at := s.now()
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		for _, t := range threads {
			// Looked at here, in commit order: who changed it before this unit has noted so before.
			if known, ok := s.view.get(t.ID); ok && known.managed >= asked {
				continue
			}
			if err := describe(ctx, tx, runtimeName, s.opts.NodeID, t, at); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	for _, t := range threads {
		title := fromThread(runtimeName, "", t, at).Title
		s.view.change(t.ID, func(known *thread) {
			if known.title == "" {
				known.title = title
			}
		})
	}
	return nil
}
