package session

import (
	"math"
	"strings"
	"time"

	"harness/internal/lib/javascript"
)

// From returns the conditions and orders of lists that continue after the position in $3 and $4.
func (o Sort) From() (condition, order string) {
	at := "updated_at"
	if o == SortCreated {
		at = "created_at"
	}
	return ` and (` + at + ` < $3 or (` + at + ` = $3 and id < $4))`, ` order by ` + at + ` desc, id desc`
}

// Runs reports whether a session in this state has a running turn.
func (state State) Runs() bool {
	return state == StateRunning || state == StateWaiting || state == StateUnresponsive
}

// createdCursor is the prefix of cursors for lists by creation; it lets ParseCursor refuse a cursor of the other
// order.
const createdCursor = "created|"

// CursorAfter returns the cursor for the entries after a session in the list.
func (o Sort) CursorAfter(last Session) string {
	if o == SortCreated {
		return createdCursor + javascript.ISOTime(last.CreatedAt) + "|" + last.ID
	}
	return javascript.ISOTime(last.UpdatedAt) + "|" + last.ID
}

// ParseCursor parses "<ISO time>|<id>"; "" starts at the newest.
func (o Sort) ParseCursor(cursor string) (before int64, id string, err error) {
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
