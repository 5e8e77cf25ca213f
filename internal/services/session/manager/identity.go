package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// eventRuntimeRefused is what a runtime said of a session that is not its own.
const eventRuntimeRefused = "runtime.refused"

// identify makes a signal name its sessions by our ids, as far as the view knows them: preload comes before. ours is
// false when what it names is another runtime's session.
func (s *Service) identify(runtimeName string, signal *runtime.Signal) (ours bool) {
	for _, id := range []*string{&signal.ThreadID, &signal.Serves} {
		if *id == "" {
			continue
		}
		found, known := s.view.named(runtimeName, *id)
		if _, anothers := s.view.peek(*id); !known && anothers {
			return false
		}
		*id = found
	}
	return true
}

// preload brings the sessions a batch names into the view, before Service.order is taken: to read them may take a
// while, in which nobody else has to wait. It returns their ids, without those that could not be read.
func (s *Service) preload(runtimeName string, batch runtime.Batch) (ids []string) {
	for i := range batch.Signals {
		for _, named := range []string{batch.Signals[i].ThreadID, batch.Signals[i].Serves} {
			if named == "" {
				continue
			}
			if id := s.bring(runtimeName, named); s.view.holds(id) {
				ids = append(ids, id)
			}
		}
		if opened, is := batch.Signals[i].Change.(runtime.ThreadOpened); is && opened.ParentID != "" {
			s.bring(runtimeName, opened.ParentID)
		}
	}
	return ids
}

// bring brings the session a runtime means by an id into the view: its session of that id, else the one it calls so
// itself, else a new one of that id.
func (s *Service) bring(runtimeName, threadID string) (id string) {
	if id, known := s.view.named(runtimeName, threadID); known {
		return id
	}
	id = threadID
	t, read := s.view.get(id)
	if !read {
		t, read = s.storedAgain(runtimeName, id)
	}
	if !t.known || t.runtime != runtimeName {
		if native := s.nativeAgain(runtimeName, threadID); native != "" && native != id {
			id = native
			if t, read = s.storedAgain(runtimeName, id); t.deleted {
				t.native = threadID
			}
		}
	}
	if read && s.view.put(id, t) {
		s.adoption.wantRoom()
	}
	return id
}

// storedAgain is storedThread for a signal: it waits for a store that is out of reach, until the journal is stopped. A
// store that cannot be read for another reason leaves the session unknown: the unit looks at the rows itself.
func (s *Service) storedAgain(runtimeName, id string) (t thread, read bool) {
	for {
		t, err := s.storedThread(context.Background(), runtimeName, id)
		if err == nil {
			return t, true
		}
		if !s.outOfReach(err) {
			s.opts.Logger.Warn().Err(err).Str("session", id).
				Msg("session could not be read; its next event does not name its title")
			return thread{runtime: runtimeName}, false
		}
	}
}

// readPause is how long a signal waits before its session is looked for again in a store that is out of reach.
const readPause = 200 * time.Millisecond

// outOfReach waits a moment for a store that is out of reach. False when there is nothing to wait for, or the journal
// is stopped.
func (s *Service) outOfReach(err error) bool {
	if !database.Transient(err) {
		return false
	}
	select {
	case <-time.After(readPause):
		return true
	case <-s.journal.Stopping():
		return false
	}
}

// nativeAgain is nativeSession for a signal, as storedAgain is storedThread.
func (s *Service) nativeAgain(runtimeName, nativeID string) string {
	for {
		id, err := nativeSession(context.Background(), s.db.Read(), runtimeName, nativeID)
		if err == nil {
			return id
		}
		if !s.outOfReach(err) {
			s.opts.Logger.Warn().Err(err).Str("runtime", runtimeName).Str("thread", nativeID).
				Msg("which session a runtime means could not be read; taking it by the runtime's own id")
			return ""
		}
	}
}

// nativeSession is the session, stored or deleted, of a runtime's own id of a conversation, "" for none.
func nativeSession(ctx context.Context, q database.Querier, runtimeName, nativeID string) (id string, err error) {
	err = q.QueryRowContext(ctx, `select id from sessions where runtime = $1 and runtime_session_id = $2
		union all select session_id from deleted_sessions where runtime = $1 and runtime_session_id = $2 limit 1`,
		runtimeName, database.EncodeText(nativeID)).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for the session of the %s conversation %s: %w", runtimeName, nativeID, err)
	}
	return database.DecodeText(id), nil
}

// readConversation reads the session of a conversation as its runtime describes it. Errors are those of readSession,
// and ErrForeignConversation.
func readConversation(ctx context.Context, q database.Querier, runtimeName string, t runtime.Thread) (
	storedSession, error) {
	id, err := nativeSession(ctx, q, runtimeName, t.Native())
	if err != nil {
		return storedSession{}, err
	}
	if id == "" && t.ID == "" {
		return storedSession{}, session.ErrNotFound
	}
	if id == "" {
		id = t.ID
	}
	stored, err := readSession(ctx, q, id)
	if err == nil && stored.Runtime != runtimeName {
		return storedSession{}, fmt.Errorf("%w: %s says %s, which is a session of %s", session.ErrForeignConversation, runtimeName,
			id, stored.Runtime)
	}
	return stored, err
}

// refuse keeps what a runtime said of another runtime's session as nobody's. It changes nothing, and no client is shown
// it.
func (s *Service) refuse(runtimeName string, signal runtime.Signal) journal.Unit {
	at := s.now()
	named := signal.ThreadID + signal.Serves // one of them
	s.opts.Logger.Warn().Str("runtime", runtimeName).Str("generation", signal.Generation).Str("method", signal.Method).
		Str("session", named).
		Msg("a runtime spoke of a session of another runtime; it is kept in the journal and changes nothing")
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

// refusing bounds the wait for a runtime to take a refusal: what it says next is not heard before.
const refusing = 5 * time.Second

// refuseStrange answers the requests of a batch that nobody can be asked: about another runtime's session, about a
// deleted one, about none. They are journaled, but the runtime would wait for ever.
func (s *Service) refuseStrange(runtimeName string, batch runtime.Batch) {
	for _, signal := range batch.Signals {
		// without a Change it is refused by its adapter
		if signal.Kind != runtime.SignalRequest || signal.Change == nil || batch.Refuse == nil {
			continue
		}
		named := signal
		if ours := s.identify(runtimeName, &named); ours && named.ThreadID != "" {
			if t, _ := s.view.get(named.ThreadID); !t.deleted {
				continue
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), refusing)
		err := batch.Refuse(ctx, signal)
		cancel()
		if err != nil {
			s.opts.Logger.Warn().Err(err).Str("runtime", runtimeName).Str("method", signal.Method).Str("session",
				signal.ThreadID).
				Msg("a request nobody can be asked could not be refused")
		}
	}
}

func frameOf(signal runtime.Signal) any {
	if len(signal.Raw) == 0 {
		return nil
	}
	return signal.Raw
}
