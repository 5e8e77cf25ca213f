package reading

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/session/usage"
	"harness/stream"
)

// listed selects the sessions of a list. It excludes system-owned sessions before paging, so that every page but the
// last is full.
const listed = `archived = $1 and system_owned <= $2`

// List returns a page of sessions from the stored rows, newest first. It returns ErrBadCursor for an invalid cursor.
// It returns *UnknownRuntimeError for a runtime that neither this server nor a stored session has.
func (r *Reader) List(ctx context.Context, query session.ListQuery) (page session.Page, err error) {
	err = r.db.Snapshot(ctx, func(q database.Querier) error {
		if page, err = r.list(ctx, q, query); err != nil {
			return err
		}
		page.Pos, err = CursorOf(ctx, q)
		return err
	})
	return page, err
}

// CursorOf returns the cursor of the event stream that matches a read of the store.
func CursorOf(ctx context.Context, q database.Querier) (int64, error) {
	_, head, err := journal.Bounds(ctx, q)
	return stream.CursorAfter(head), err
}

func (r *Reader) list(ctx context.Context, q database.Querier, query session.ListQuery) (page session.Page, err error) {
	if query.Limit <= 0 {
		query.Limit = defaultPage
	}
	query.Limit = min(query.Limit, largestPage)
	if query.State == "" {
		page, err = r.page(ctx, q, query)
	} else {
		page, err = r.inState(ctx, q, query)
	}
	if err != nil || !query.Figures {
		return page, err
	}
	if err := usage.FillFigures(ctx, q, pointers(page.Sessions)...); err != nil {
		return page, err
	}
	if err := errors.Join(fillNames(ctx, q, pointers(page.Sessions)...), r.fillLines(ctx, q, pointers(page.Sessions)...)); err != nil {
		return page, err
	}
	return page, store.FillReadMarkers(ctx, q, query.Reader, pointers(page.Sessions)...)
}

// inState returns a page of the sessions in a state. The state is known only after reading a session, so inState reads
// in list order until the page is full. For sessions with a running turn, it uses an index.
func (r *Reader) inState(ctx context.Context, q database.Querier, query session.ListQuery) (session.Page, error) {
	page, limit := session.Page{Sessions: []session.Session{}}, query.Limit
	query.Limit = largestPage
	for {
		next, err := r.page(ctx, q, query)
		if err != nil {
			return session.Page{}, err
		}
		for _, one := range next.Sessions {
			if one.Activity.State != query.State {
				continue
			}
			if len(page.Sessions) == limit {
				page.NextCursor = query.Sort.CursorAfter(page.Sessions[limit-1])
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

// page reads the sessions after a cursor, in any state.
func (r *Reader) page(ctx context.Context, q database.Querier, query session.ListQuery) (session.Page, error) {
	before, beforeID, err := query.Sort.ParseCursor(query.Cursor)
	if err != nil {
		return session.Page{}, err
	}
	defaults, err := r.DefaultControls(ctx, q)
	if err != nil {
		return session.Page{}, err
	}
	where, order, args, err := r.conditions(ctx, q, query, before, beforeID)
	if err != nil {
		return session.Page{}, err
	}
	next := ""
	if query.Text != "" {
		var found string
		if found, next, args, err = r.findText(ctx, q, query, where+order, args); err != nil {
			return session.Page{}, err
		}
		where += found
	}
	args = append(args, query.Limit+1)
	rows, err := database.ReadAll(ctx, q, "list sessions", store.ScanSession, `select `+store.SessionColumns+` from sessions where `+
		where+order+` limit $`+strconv.Itoa(len(args)), args...)
	if err != nil {
		return session.Page{}, err
	}
	page := session.Page{Sessions: []session.Session{}, NextCursor: next}
	for _, row := range rows {
		if len(page.Sessions) == query.Limit {
			page.NextCursor = query.Sort.CursorAfter(page.Sessions[query.Limit-1])
			break
		}
		sess, err := row.Effective(r.runtimes.DefaultsFor(row.Runtime, defaults))
		if err != nil {
			return session.Page{}, err
		}
		page.Sessions = append(page.Sessions, sess)
	}
	return page, r.fillActivity(ctx, q, pointers(page.Sessions)...)
}

// conditions returns the conditions of a list page with their arguments, and its order.
func (r *Reader) conditions(ctx context.Context, q database.Querier, query session.ListQuery, before int64, beforeID string) (
	where, order string, args []any, err error) {
	args = []any{store.Flag(query.Archived), store.Flag(query.IncludeSystemOwned), before, database.EncodeText(beforeID)}
	from, order := query.Sort.From()
	where = listed + from
	if query.Runtime != "" {
		if err := r.runtimes.CheckRuntime(ctx, q, query.Runtime); err != nil {
			return "", "", nil, err
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
	case session.NoProject:
		where += ` and project_id is null`
	default:
		args = append(args, database.EncodeText(query.ProjectID))
		where += ` and project_id = $` + strconv.Itoa(len(args))
	}
	if query.State.Runs() {
		where += ` and id in (select session_id from turns where status = 'inProgress')`
	}
	return where, order, args, nil
}

func pointers(sessions []session.Session) []*session.Session {
	all := make([]*session.Session, len(sessions))
	for i := range sessions {
		all[i] = &sessions[i]
	}
	return all
}

// Usage adds up the usage that sessions' runtimes reported.
func (r *Reader) Usage(ctx context.Context, want session.UsageQuery) (session.UsageSum, error) {
	return usage.Sum(ctx, r.db, want)
}

// projectsAtOnce is the number of sessions in one query.
const projectsAtOnce = 500

// ProjectsOf returns the projects of stored sessions, by session. It omits missing sessions and those without a
// project.
func (r *Reader) ProjectsOf(ctx context.Context, sessionIDs ...string) (map[string]string, error) {
	projects := map[string]string{}
	for some := range slices.Chunk(sessionIDs, projectsAtOnce) {
		marks, args := make([]string, len(some)), make([]any, len(some))
		for i, id := range some {
			marks[i], args[i] = `$`+strconv.Itoa(i+1), database.EncodeText(id)
		}
		rows, err := database.ReadAll(ctx, r.db.Read(), "read the projects of sessions",
			func(row database.Row) (pair [2]string, err error) {
				err = row.Scan(&pair[0], &pair[1])
				return pair, err
			},
			`select id, project_id from sessions where project_id is not null and id in (`+strings.Join(marks, `, `)+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, pair := range rows {
			projects[database.DecodeText(pair[0])] = pair[1]
		}
	}
	return projects, nil
}
