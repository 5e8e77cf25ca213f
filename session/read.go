package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"harness/database"
	"harness/internal/javascript"
	"harness/journal"
	"harness/runtime"
	"harness/stream"
)

// Limits of a list page.
const (
	defaultPage = 100
	largestPage = 200
)

// forked takes in a session that its runtime has just made of another one; it has that one's client tools. Errors are
// those of Lookup.
func (s *Service) forked(ctx context.Context, sourceID, sessionID string) (Session, error) {
	if _, err := s.adopt(ctx, sessionID); err != nil {
		return Session{}, err
	}
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, errors.Join(inheritSources(ctx, tx, sourceID, sessionID), updateSession(ctx, tx, sessionID,
			`dynamic_tools = (select dynamic_tools from sessions where id = $2)`, database.EncodeText(sourceID)))
	})
	if err != nil {
		return Session{}, err
	}
	return s.stored(ctx, sessionID)
}

// adopt is Lookup for who is about to use a session's runtime, or has just made it: a session of which only a signal
// told so far is asked about first. A fork's signal, for one, is faster than the answer to who asked for the fork.
func (s *Service) adopt(ctx context.Context, sessionID string) (Session, error) {
	session, err := s.Lookup(ctx, sessionID)
	if err != nil || string(session.Thread) != placeholderThread || !s.owns(session) {
		return session, err
	}
	if s.adoptOne(ctx, session.Runtime, sessionID) == nil {
		return s.stored(ctx, sessionID)
	}
	return session, nil // the bare row is what there is
}

// Lookup finds a session in the stored rows, or adopts one a runtime knows and we do not: a runtime is asked about an
// id that is not stored here, and no other. *DeletedError for a deleted session, ErrNotFound for an unknown one;
// runtime.ErrUnavailable when the rows do not have it and the runtime that could can not be asked.
func (s *Service) Lookup(ctx context.Context, sessionID string) (Session, error) {
	session, err := s.stored(ctx, sessionID)
	if !errors.Is(err, ErrNotFound) {
		return session, err
	}
	if sessionID == "" || database.EncodeText(sessionID) != sessionID {
		return Session{}, ErrNotFound // no runtime gives out such an id
	}
	var silent error // of a runtime that may have it
	for _, adapter := range s.allAdapters() {
		historian, ok := runtime.Has[runtime.Historian](adapter, runtime.OpHistory)
		if !ok {
			continue
		}
		asked := s.now()
		t, err := historian.ReadThread(ctx, sessionID, false)
		var refused *runtime.Error
		switch {
		case err == nil && t.ID == sessionID:
			if err := s.takeIn(ctx, adapter.Name(), []runtime.Thread{t}, asked); err != nil {
				return Session{}, err
			}
			s.imports.want(sessionID)
			return s.stored(ctx, sessionID)
		case err == nil, errors.Is(err, runtime.ErrThreadNotFound):
		case errors.Is(err, runtime.ErrUnavailable), errors.Is(err, runtime.ErrTimeout):
			silent = fmt.Errorf("session %s is not stored here and its runtime cannot be asked: %w", sessionID, err)
		case errors.As(err, &refused):
			// It would not even look: not an id of this runtime.
		default:
			return Session{}, err
		}
	}
	if silent != nil {
		return Session{}, silent
	}
	return Session{}, ErrNotFound
}

// Keeps tells whether a session is stored. No runtime is asked.
func (s *Service) Keeps(ctx context.Context, sessionID string) (bool, error) {
	_, err := readSession(ctx, s.db.Read(), sessionID)
	var deleted *DeletedError
	if errors.Is(err, ErrNotFound) || errors.As(err, &deleted) {
		return false, nil
	}
	return err == nil, err
}

// stored reads a session from its row.
func (s *Service) stored(ctx context.Context, sessionID string) (Session, error) {
	return s.storedIn(ctx, s.db.Read(), sessionID)
}

func (s *Service) storedIn(ctx context.Context, q database.Querier, sessionID string) (Session, error) {
	row, err := readSession(ctx, q, sessionID)
	if err != nil {
		return Session{}, err
	}
	defaults, err := s.defaults(ctx, q)
	if err != nil {
		return Session{}, err
	}
	return row.effective(s.defaultsFor(row.Runtime, defaults))
}

// listed selects what a list shows, from a cursor on. System-owned sessions are left out here, not after paging, so
// that a page is full while there are more.
const (
	listed      = `archived = $1 and system_owned <= $2 and (updated_at < $3 or (updated_at = $3 and id < $4))`
	newestFirst = ` order by updated_at desc, id desc`
)

// List returns a page of sessions from the stored rows, newest first. ErrBadCursor for a cursor that is not ours,
// *UnknownRuntimeError for a runtime that this server does not have and no stored session is of.
func (s *Service) List(ctx context.Context, query ListQuery) (page Page, err error) {
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		if page, err = s.list(ctx, q, query); err != nil {
			return err
		}
		page.Pos, err = cursorOf(ctx, q)
		return err
	})
	return page, err
}

// cursorOf is the cursor of the event stream at which a state of the store is true.
func cursorOf(ctx context.Context, q database.Querier) (int64, error) {
	_, head, err := journal.Bounds(ctx, q)
	return stream.CursorAfter(head), err
}

func (s *Service) list(ctx context.Context, q database.Querier, query ListQuery) (Page, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, largestPage)
	before, beforeID, err := parseCursor(query.Cursor)
	if err != nil {
		return Page{}, err
	}
	defaults, err := s.defaults(ctx, q)
	if err != nil {
		return Page{}, err
	}
	args := []any{flag(query.Archived), flag(query.IncludeSystemOwned), before, database.EncodeText(beforeID)}
	where, next := listed, ""
	if query.Runtime != "" {
		if err := s.checkRuntime(ctx, q, query.Runtime); err != nil {
			return Page{}, err
		}
		args = append(args, query.Runtime)
		where += ` and runtime = $` + strconv.Itoa(len(args))
	}
	if query.ProjectID != "" {
		args = append(args, database.EncodeText(query.ProjectID))
		where += ` and project_id = $` + strconv.Itoa(len(args))
	}
	if query.Text != "" {
		var found string
		if found, next, args, err = s.findText(ctx, q, query.Text, where, args, limit+1); err != nil {
			return Page{}, err
		}
		where += found
	}
	args = append(args, limit+1)
	rows, err := database.ReadAll(ctx, q, "list sessions", scanSession, `select `+sessionColumns+` from sessions where `+
		where+newestFirst+` limit $`+strconv.Itoa(len(args)), args...)
	if err != nil {
		return Page{}, err
	}
	page := Page{Sessions: []Session{}, NextCursor: next}
	for _, row := range rows {
		if len(page.Sessions) == limit {
			last := page.Sessions[limit-1]
			page.NextCursor = cursorAfter(last.UpdatedAt, last.ID)
			break
		}
		session, err := row.effective(s.defaultsFor(row.Runtime, defaults))
		if err != nil {
			return Page{}, err
		}
		page.Sessions = append(page.Sessions, session)
	}
	shown := make([]*Session, len(page.Sessions))
	for i := range page.Sessions {
		shown[i] = &page.Sessions[i]
	}
	return page, s.fillActivity(ctx, s.db.Read(), shown...)
}

// cursorAfter is the cursor of what follows a session in the list.
func cursorAfter(updatedAt int64, id string) string { return isoTime(updatedAt) + "|" + id }

// parseCursor reads "<ISO updatedAt>|<id>"; "" begins at the newest.
func parseCursor(cursor string) (before int64, id string, err error) {
	if cursor == "" {
		return math.MaxInt64, "", nil
	}
	at, id, ok := strings.Cut(cursor, "|")
	parsed, err := time.Parse(javascript.TimeLayout, at)
	if !ok || err != nil || id == "" {
		return 0, "", ErrBadCursor
	}
	return parsed.UnixMilli(), id, nil
}
