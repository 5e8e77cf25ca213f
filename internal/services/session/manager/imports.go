package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/items"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
	"harness/transcript"
)

const (
	// importPatience is how long a read waits for the import of a history.
	importPatience = 5 * time.Second
	// importPause is the pause after a failed import, unless the runtime restarted. It doubles with each failure, up
	// to importPauseMost.
	importPause     = time.Minute
	importPauseMost = time.Hour
	// importPage is the number of sessions without a history that one read lists.
	importPage = 100
)

// imports is the work list of the importer, which imports earlier histories of conversations from runtimes one by one.
type imports struct {
	wake            wake.Signal
	patience, pause time.Duration

	mu sync.Mutex
	// first lists sessions that a client reads or that are new; done notifies their waiters that the worker has
	// handled one.
	first []string
	done  map[string]chan struct{}
	// scanning reports that the worker searches the store for other sessions, newest first. rest is the rest of a
	// page; the next page starts below the id before, "" for none.
	scanning bool
	rest     []string
	before   string
	searches int // how often the search restarted
	// tried holds the failures to retry; unread reports that the search itself failed.
	tried  map[string]importTry
	unread bool
}

// importerOptions configure importer.
type importerOptions struct {
	Journal  *journal.Journal
	DB       *database.DB
	NodeID   string
	Reader   *reading.Reader
	Runtimes *registry.Registry
	Items    *items.Items
	Owns     func(one session.Session) bool
	AdoptOne func(ctx context.Context, runtimeName, sessionID string) error
	Logger   zerolog.Logger
	Now      func() int64 // ms
}

// importer stores the histories of conversations that existed in runtimes before this server.
type importer struct {
	options importerOptions
	imports *imports
	entries transcript.Store
}

// importTry is the last failed import of a history: its time (ms), its runtime process, and the number of failures.
type importTry struct {
	at         int64
	generation string
	times      int
}

func newImports() *imports {
	return &imports{wake: wake.New(), patience: importPatience, pause: importPause,
		done: map[string]chan struct{}{}, tried: map[string]importTry{}}
}

// want puts a session ahead of all unrequested ones; looked is closed once the worker has handled it.
func (i *imports) want(sessionID string) (looked <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	done, listed := i.done[sessionID]
	if !listed {
		done = make(chan struct{})
		i.done[sessionID] = done
		i.first = append(i.first, sessionID)
		i.wake.Set()
	}
	return done
}

// wantAll starts a search for sessions without a history.
func (i *imports) wantAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.scanning, i.before, i.unread = true, "", false
	i.searches++
	i.wake.Set()
}

// due reports whether a failed import may be retried.
func (i *imports) due(sessionID, generation string, now int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	try, failed := i.tried[sessionID]
	return !failed || try.generation != generation ||
		now-try.at >= min(i.pause<<(try.times-1), importPauseMost).Milliseconds()
}

// take returns the next session to import, "" for none, and whether a caller requested it.
func (i *imports) take() (id string, wanted bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, list := range []*[]string{&i.first, &i.rest} {
		if len(*list) > 0 {
			id, *list = (*list)[0], (*list)[1:]
			return id, n == 0
		}
	}
	return "", false
}

// failed records a failed import; settled records that nothing is left to import.
func (i *imports) failed(sessionID, generation string, now int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tried[sessionID] = importTry{now, generation, min(i.tried[sessionID].times+1, 10)}
}

func (i *imports) settled(sessionID string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.tried, sessionID)
}

// looked wakes the callers that wait for a session.
func (i *imports) looked(sessionID string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if done, listed := i.done[sessionID]; listed {
		close(done)
		delete(i.done, sessionID)
	}
}

// again returns a channel that fires when failures are due, nil if there are none.
func (i *imports) again() <-chan time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.tried) == 0 && !i.unread {
		return nil
	}
	return time.After(i.pause)
}

// importLoop imports histories until ctx ends. Unrequested imports take at most half of its time, to leave the writer
// to others.
func (s *importer) importLoop(ctx context.Context) {
	for ctx.Err() == nil {
		var rest <-chan time.Time
		if id, wanted := s.imports.take(); id != "" {
			began := time.Now()
			s.importOne(ctx, id)
			if wanted {
				continue
			}
			rest = time.After(time.Since(began))
		} else if s.nextImports(ctx) {
			continue
		}
		select {
		case <-rest:
		case <-s.imports.wake:
		case <-s.imports.again():
			s.imports.wantAll()
		case <-ctx.Done():
		}
	}
}

// nextImports continues the search of the store; it returns false at the end.
func (s *importer) nextImports(ctx context.Context) bool {
	i := s.imports
	i.mu.Lock()
	scanning, before, search := i.scanning, i.before, i.searches
	i.mu.Unlock()
	if !scanning {
		return false
	}
	ids, err := missingHistories(ctx, s.options.DB.Read(), s.options.NodeID, before)
	if err != nil && ctx.Err() == nil {
		s.options.Logger.Warn().Err(err).
			Msg("cannot search for sessions without a history; retrying later")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if search != i.searches {
		return true // the search restarted since
	}
	i.unread = err != nil
	if i.scanning = len(ids) == importPage; i.scanning {
		i.before = ids[len(ids)-1]
	}
	i.rest = ids
	return len(ids) > 0
}

// missingHistories lists sessions of a node without an imported history, newest first, below an id.
func missingHistories(ctx context.Context, q database.Querier, nodeID, before string) (ids []string, err error) {
	return database.ReadTexts(ctx, q, "list the sessions whose history is missing", `select id from sessions
		where node_id = $1 and history_at = 0 and ($2 = '' or id < $2) order by id desc limit $3`, nodeID,
		database.EncodeText(before), importPage)
}

// importOne imports a session's history from its runtime. It does so if the session began elsewhere (adopted, forked),
// or changed without this server.
func (s *importer) importOne(ctx context.Context, sessionID string) {
	defer s.imports.looked(sessionID)
	sess, err := s.options.Reader.Stored(ctx, sessionID)
	adapter, generation := s.historian(sess)
	if err == nil && adapter != nil {
		if string(sess.Thread) == store.PlaceholderThread {
			err = s.options.AdoptOne(ctx, sess.Runtime, sessionID)
		}
		if err == nil || errors.Is(err, runtime.ErrThreadNotFound) {
			err = s.importHistory(ctx, sess, adapter)
		}
	}
	switch {
	case err == nil && adapter == nil && sess.HistoryAt == 0:
		// The importer retries when the runtime starts, or when the retry is due.
	case err == nil, session.Absent(err):
		s.imports.settled(sessionID)
	default:
		s.imports.failed(sessionID, generation, s.options.Now())
		if ctx.Err() == nil {
			s.options.Logger.Warn().Err(err).Str("session", sessionID).
				Msg("cannot read a session's history from its runtime; showing the stored transcript until then")
		}
	}
}

// AwaitHistory waits for a limited time until the worker has handled a session with a missing but available history.
func (s *importer) AwaitHistory(ctx context.Context, session session.Session) error {
	if adapter, _ := s.historian(session); adapter == nil {
		return nil
	}
	select {
	case <-s.imports.want(session.ID):
	case <-time.After(s.imports.patience):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// historian returns the runtime that can import the history of a session, and its process. It returns nil if the
// history is here or another node owns the session. It also returns nil if the import failed recently, or the runtime
// is down; its start retries all.
func (s *importer) historian(session session.Session) (historian runtime.History, generation string) {
	if session.HistoryAt != 0 || !s.options.Owns(session) {
		return nil, ""
	}
	adapter, err := s.options.Runtimes.Adapter(session.Runtime)
	if err != nil {
		return nil, "" // a runtime that is no longer configured has no history
	}
	status := adapter.Status()
	if status.State != runtime.StateReady || !s.imports.due(session.ID, status.Generation, s.options.Now()) {
		return nil, ""
	}
	historian, _ = runtime.Has[runtime.History](adapter, runtime.OpHistory)
	return historian, status.Generation
}
