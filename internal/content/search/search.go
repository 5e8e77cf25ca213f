package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Query describes a search.
type Query struct {
	// Text is words and phrases in quotes. A hit contains all of them, in any case and with any accents; the last word
	// may be a prefix.
	Text string
	// Session and Project do not filter when they are "". Projects, when not nil, limits the search.
	Session, Project string
	Projects         []string
	// Cursor is the Next of the previous page, "" for the first. Limit is the maximum number of hits.
	Cursor string
	Limit  int
}

// Hit is a matching title or entry.
type Hit struct {
	SessionID, Title string
	// EntryID and TurnID are "" for a title.
	EntryID, TurnID, Role, Type string
	Time                        int64 // ms
	Snippet                     string
	Marks                       []Mark
}

// Page is a page of hits, the most recently written first.
type Page struct {
	Hits []Hit
	// Next is the cursor of the next page, "" when there is none.
	Next string
	// Behind means that the index was behind the store when the search began, so hits may be missing.
	Behind bool
}

// QueryError describes why a query is invalid.
type QueryError struct{ Reason string }

// Error implements error.
func (e *QueryError) Error() string { return e.Reason }

// ErrBadCursor means that a cursor belongs to no page.
var ErrBadCursor = errors.New("the cursor belongs to no page: omit it to begin with the first page")

// row is a hit with its number, which is the cursor after it.
type row struct {
	Hit
	id int64
}

// Search finds titles and entries. It waits briefly for the index. *QueryError, ErrBadCursor.
func (x *Index) Search(ctx context.Context, query Query) (Page, error) {
	want, err := parse(query.Text)
	if err != nil {
		return Page{}, err
	}
	before := int64(math.MaxInt64)
	if query.Cursor != "" {
		if before, err = strconv.ParseInt(query.Cursor, 10, 64); err != nil || before <= 0 {
			return Page{}, ErrBadCursor
		}
	}
	page := Page{Hits: []Hit{}}
	if page.Behind, err = x.behind(ctx); err != nil {
		return Page{}, err
	}
	for examined := 0; ; {
		rows, err := x.find(ctx, query, want, before)
		if err != nil {
			return Page{}, err
		}
		more := len(rows) > query.Limit
		for i, r := range rows[:min(len(rows), query.Limit)] {
			before = r.id
			there, err := x.show(ctx, &r, want)
			if err != nil {
				return Page{}, err
			}
			if there {
				page.Hits = append(page.Hits, r.Hit)
			}
			if len(page.Hits) == query.Limit {
				more = i+1 < len(rows)
				break
			}
		}
		examined += query.Limit
		if more && (len(page.Hits) == query.Limit || want.exact() || examined >= maxExamined) {
			page.Next = strconv.FormatInt(before, 10)
		}
		if !more || page.Next != "" {
			return page, nil
		}
	}
}

// maxExamined bounds how many documents with all terms are checked for the exact phrase. Beyond it, a page is returned
// with fewer hits.
const maxExamined = 1000

// show adds the text of a hit. It drops a hit that was deleted since the query, or has the terms in another order.
func (x *Index) show(ctx context.Context, r *row, want wanted) (bool, error) {
	text := r.Title
	if r.EntryID != "" {
		content, there, err := x.opts.Entries.Beginning(ctx, x.opts.DB.Read(), r.SessionID, r.EntryID, maxText)
		if err != nil || !there {
			return false, err
		}
		text = content
	}
	if !want.exact() && !want.in(text) {
		return false, nil
	}
	r.Snippet, r.Marks = snippetOf(text, want)
	return true, nil
}

// behind waits until the current state of the store is indexed, and reports whether that took too long.
func (x *Index) behind(ctx context.Context) (bool, error) {
	_, head, err := journal.Bounds(ctx, x.opts.DB.Read())
	if err != nil {
		return false, err
	}
	waiting, cancel := context.WithTimeout(ctx, x.opts.Wait)
	defer cancel()
	err = x.catchUp(waiting, head)
	if err != nil && ctx.Err() == nil && (waiting.Err() != nil || database.Transient(err)) {
		return true, nil
	}
	return false, err
}

func (x *Index) find(ctx context.Context, query Query, want wanted, before int64) ([]row, error) {
	from, match := `search_words w join search_documents d on d.id = w.rowid`, `search_words match $1 and w.rowid < $2`
	text := want.lite()
	if x.opts.DB.Engine() == database.Postgres {
		from, match, text = `search_documents d`, `d.words @@ cast($1 as tsquery) and d.id < $2`, want.postgres()
	}
	args := []any{text, before}
	var filter strings.Builder
	in := func(column string, values ...string) {
		filter.WriteString(` and ` + column + ` in (''`)
		for _, value := range values {
			args = append(args, database.EncodeText(value))
			filter.WriteString(`, $` + strconv.Itoa(len(args)))
		}
		filter.WriteString(`)`)
	}
	if query.Session != "" {
		in(`d.session`, query.Session)
	}
	if query.Project != "" {
		in(`s.project_id`, query.Project)
	}
	if query.Projects != nil {
		in(`s.project_id`, query.Projects...)
	}
	order := ` order by d.id desc`
	if x.opts.DB.Engine() == database.SQLite {
		order = ` order by w.rowid desc`
	}
	args = append(args, query.Limit+1)
	rows, err := database.ReadAll(ctx, x.opts.DB.Read(), "search", scan, `select d.id, d.session, d.message,
			case s.name when '' then 'New session' else s.name end, e.turn_id, e.role, e.type, coalesce(e.completed_at, e.started_at, s.updated_at)
		from `+from+` join sessions s on s.id = d.session
		left join transcript_entries e on e.session_id = d.session and e.message_id = d.message
		where `+match+` and s.system_owned = 0 and (d.message = '' or e.message_id is not null and not exists (select 1
			from rolled_back_turns r where r.session_id = d.session and r.turn_id = e.turn_id))`+filter.String()+order+
		` limit $`+strconv.Itoa(len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("search for %q: %w", query.Text, err)
	}
	return rows, nil
}

func scan(from database.Row) (r row, err error) {
	var turn, role, kind sql.NullString
	err = from.Scan(&r.id, &r.SessionID, &r.EntryID, &r.Title, &turn, &role, &kind, &r.Time)
	r.TurnID, r.Role, r.Type = turn.String, role.String, kind.String
	for _, text := range []*string{&r.SessionID, &r.EntryID, &r.Title, &r.TurnID, &r.Role, &r.Type} {
		*text = database.DecodeText(*text)
	}
	return r, err
}
