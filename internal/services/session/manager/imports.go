package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

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
	// importPatience is how long a read waits for a history that is being imported.
	importPatience = 5 * time.Second
	// importPause is how long after a failure a history is not asked for again, unless its runtime was restarted. It
	// doubles with each failure, up to importPauseMost.
	importPause     = time.Minute
	importPauseMost = time.Hour
	// importPage is how many sessions whose history is missing are looked up at once.
	importPage = 100
)

// imports is the list of the worker that imports what runtimes stored of conversations before they came here, one
// after the other.
type imports struct {
	wake            chan struct{}
	patience, pause time.Duration

	mu sync.Mutex
	// first are sessions that a client reads or that just came in, done reports who waits that the worker has looked at one.
	first []string
	done  map[string]chan struct{}
	// scanning says that the store is searched for others, newest first: rest is what is left of a page of it, before the
	// id the next page ends at, "" for none.
	scanning bool
	rest     []string
	before   string
	searches int // how often the search started again
	// tried are the failures that are to be tried again; unread says that the search itself failed.
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

// importer stores the histories that runtimes have of conversations from before they came here.
type importer struct {
	options importerOptions
	imports *imports
	entries transcript.Store
}

func (s *importer) commit(ctx context.Context, unit journal.Unit) error {
	_, err := s.options.Journal.Commit(ctx, unit)
	return err
}

// importTry is when (ms) and in which runtime process a history was last asked for in vain, and how often.
type importTry struct {
	at         int64
	generation string
	times      int
}

func newImports() *imports {
	return &imports{wake: make(chan struct{}, 1), patience: importPatience, pause: importPause,
		done: map[string]chan struct{}{}, tried: map[string]importTry{}}
}

// want puts a session on the list, before all that no client asked for; looked is closed once the worker has looked at it.
func (i *imports) want(sessionID string) (looked <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	done, listed := i.done[sessionID]
	if !listed {
		done = make(chan struct{})
		i.done[sessionID] = done
		i.first = append(i.first, sessionID)
		i.signal()
	}
	return done
}

// wantAll has the store searched for sessions whose history is missing.
func (i *imports) wantAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.scanning, i.before, i.unread = true, "", false
	i.searches++
	i.signal()
}

func (i *imports) signal() {
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// due reports whether a history that was asked for in vain may be asked for again.
func (i *imports) due(sessionID, generation string, now int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	try, failed := i.tried[sessionID]
	return !failed || try.generation != generation ||
		now-try.at >= min(i.pause<<(try.times-1), importPauseMost).Milliseconds()
}

// take is the next session to look at, "" for none that is known of, and whether it was wanted.
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

// failed notes that a history was asked for in vain, settled that there is nothing (more) to ask for.
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

// looked lets those go on who waited for a session to be looked at.
func (i *imports) looked(sessionID string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if done, listed := i.done[sessionID]; listed {
		close(done)
		delete(i.done, sessionID)
	}
}

// again is when the failures are to be tried again, nil when there are none.
func (i *imports) again() <-chan time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.tried) == 0 && !i.unread {
		return nil
	}
	return time.After(i.pause)
}

// importLoop takes histories in until ctx ends. Those no one waits for take half of its time at most: others write,
// too.
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

// nextImports searches the store on; false when there is nothing more to search.
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
			Msg("sessions whose history is missing could not be searched for; trying again in a while")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if search != i.searches {
		return true // it started again meanwhile
	}
	i.unread = err != nil
	if i.scanning = len(ids) == importPage; i.scanning {
		i.before = ids[len(ids)-1]
	}
	i.rest = ids
	return len(ids) > 0
}

// missingHistories lists sessions of a node whose history is to be imported, newest first, below an id.
func missingHistories(ctx context.Context, q database.Querier, nodeID, before string) (ids []string, err error) {
	return database.ReadTexts(ctx, q, "list the sessions whose history is missing", `select id from sessions
		where node_id = $1 and history_at = 0 and ($2 = '' or id < $2) order by id desc limit $3`, nodeID,
		database.EncodeText(before), importPage)
}

// importOne makes sure that the runtime's own history of a session is stored here: of one that began elsewhere
// (adopted, forked), or in which something was done that no client here saw.
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
		// It is looked at again when its runtime starts, or when it is due.
	case err == nil, session.Absent(err):
		s.imports.settled(sessionID)
	default:
		s.imports.failed(sessionID, generation, s.options.Now())
		if ctx.Err() == nil {
			s.options.Logger.Warn().Err(err).Str("session", sessionID).
				Msg("the runtime's history of a session could not be read; showing what is stored here until it can")
		}
	}
}

// AwaitHistory waits, within bounds, until the worker has looked for the history of a session that is missing and can
// be had.
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

// historian is the runtime that is to be asked for the history of a session now, and its process; nil when none is: the
// history is here, or the runtime is down (when it starts, all is looked at again), or it failed to report a while ago,
// or the session is another node's, whose runtime must not be asked.
func (s *importer) historian(session session.Session) (historian runtime.History, generation string) {
	if session.HistoryAt != 0 || !s.options.Owns(session) {
		return nil, ""
	}
	adapter, err := s.options.Runtimes.Adapter(session.Runtime)
	if err != nil {
		return nil, "" // a runtime that is not configured anymore reports nothing
	}
	status := adapter.Status()
	if status.State != runtime.StateReady || !s.imports.due(session.ID, status.Generation, s.options.Now()) {
		return nil, ""
	}
	historian, _ = runtime.Has[runtime.History](adapter, runtime.OpHistory)
	return historian, status.Generation
}
