package session

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
)

// listed selects what a list shows. System-owned sessions are left out here, not after paging, so that a page is full
// while there are more.
const listed = `archived = $1 and system_owned <= $2`

// from are the conditions and orders of lists that go on from the place in $3 and $4.
func (o Sort) from() (condition, order string) {
	at := "updated_at"
	if o == SortCreated {
		at = "created_at"
	}
	return ` and (` + at + ` < $3 or (` + at + ` = $3 and id < $4))`, ` order by ` + at + ` desc, id desc`
}

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

func (s *Service) list(ctx context.Context, q database.Querier, query ListQuery) (page Page, err error) {
	if query.Limit <= 0 {
		query.Limit = defaultPage
	}
	query.Limit = min(query.Limit, largestPage)
	if query.State == "" {
		page, err = s.stretch(ctx, q, query)
	} else {
		page, err = s.inState(ctx, q, query)
	}
	if err != nil || !query.Figures {
		return page, err
	}
	if err := fillFigures(ctx, q, pointers(page.Sessions)...); err != nil {
		return page, err
	}
	return page, fillRead(ctx, q, query.Reader, pointers(page.Sessions)...)
}

// inState is the page of the sessions that are in a state. Only reading a session tells its state, so they are read in
// the order of the list until the page is full; which ones have a running turn an index tells.
func (s *Service) inState(ctx context.Context, q database.Querier, query ListQuery) (Page, error) {
	page, limit := Page{Sessions: []Session{}}, query.Limit
	query.Limit = largestPage
	for {
		next, err := s.stretch(ctx, q, query)
		if err != nil {
			return Page{}, err
		}
		for _, one := range next.Sessions {
			if one.Activity.State != query.State {
				continue
			}
			if len(page.Sessions) == limit {
				page.NextCursor = query.Sort.cursorAfter(page.Sessions[limit-1])
				return page, nil
			}
			page.Sessions = append(page.Sessions, one)
		}
		if next.NextCursor == "" {
			return page, nil
		}
		query.Cursor = next.NextCursor
	}
}

// runs tells that sessions of a state have a running turn.
func (state State) runs() bool {
	return state == StateRunning || state == StateWaiting || state == StateUnresponsive
}

// stretch reads the sessions from a cursor on, whatever their state.
func (s *Service) stretch(ctx context.Context, q database.Querier, query ListQuery) (Page, error) {
	before, beforeID, err := query.Sort.parseCursor(query.Cursor)
	if err != nil {
		return Page{}, err
	}
	defaults, err := s.defaults(ctx, q)
	if err != nil {
		return Page{}, err
	}
	args := []any{flag(query.Archived), flag(query.IncludeSystemOwned), before, database.EncodeText(beforeID)}
	from, order := query.Sort.from()
	where, next := listed+from, ""
	if query.Runtime != "" {
		if err := s.checkRuntime(ctx, q, query.Runtime); err != nil {
			return Page{}, err
		}
		args = append(args, query.Runtime)
		where += ` and runtime = $` + strconv.Itoa(len(args))
	}
	if query.Projects != nil {
		where += ` and project_id in (''`
		for _, id := range query.Projects {
			args = append(args, database.EncodeText(id))
			where += `, $` + strconv.Itoa(len(args))
		}
		where += `)`
	}
	switch query.ProjectID {
	case "":
	case NoProject:
		where += ` and project_id is null`
	default:
		args = append(args, database.EncodeText(query.ProjectID))
		where += ` and project_id = $` + strconv.Itoa(len(args))
	}
	if query.State.runs() {
		where += ` and id in (select session_id from turns where status = 'inProgress')`
	}
	if query.Text != "" {
		var found string
		if found, next, args, err = s.findText(ctx, q, query, where+order, args); err != nil {
			return Page{}, err
		}
		where += found
	}
	args = append(args, query.Limit+1)
	rows, err := database.ReadAll(ctx, q, "list sessions", scanSession, `select `+sessionColumns+` from sessions where `+
		where+order+` limit $`+strconv.Itoa(len(args)), args...)
	if err != nil {
		return Page{}, err
	}
	page := Page{Sessions: []Session{}, NextCursor: next}
	for _, row := range rows {
		if len(page.Sessions) == query.Limit {
			page.NextCursor = query.Sort.cursorAfter(page.Sessions[query.Limit-1])
			break
		}
		session, err := row.effective(s.defaultsFor(row.Runtime, defaults))
		if err != nil {
			return Page{}, err
		}
		page.Sessions = append(page.Sessions, session)
	}
	return page, s.fillActivity(ctx, q, pointers(page.Sessions)...)
}

func pointers(sessions []Session) []*Session {
	all := make([]*Session, len(sessions))
	for i := range sessions {
		all[i] = &sessions[i]
	}
	return all
}

// createdCursor begins the cursors of lists by creation: one of the other order is not taken for theirs.
const createdCursor = "created|"

// cursorAfter is the cursor of what follows a session in the list.
func (o Sort) cursorAfter(last Session) string {
	if o == SortCreated {
		return createdCursor + isoTime(last.CreatedAt) + "|" + last.ID
	}
	return isoTime(last.UpdatedAt) + "|" + last.ID
}

// parseCursor reads "<ISO time>|<id>"; "" begins at the newest.
func (o Sort) parseCursor(cursor string) (before int64, id string, err error) {
	if cursor == "" {
		return math.MaxInt64, "", nil
	}
	rest, created := strings.CutPrefix(cursor, createdCursor)
	at, id, ok := strings.Cut(rest, "|")
	parsed, err := time.Parse(javascript.TimeLayout, at)
	if !ok || err != nil || id == "" || created != (o == SortCreated) {
		return 0, "", ErrBadCursor
	}
	return parsed.UnixMilli(), id, nil
}
