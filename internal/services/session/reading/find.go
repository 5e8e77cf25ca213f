package reading

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/transcript"
)

// findText narrows a page of sessions (where and args as in page) to those that contain query.Text. It returns the
// added condition with its arguments, and the cursor of the next page, "" for none. No engine folds the case of every
// script, and engines differ, so this function compares texts itself. It reads titles and first messages in list order
// until the page is full. It searches the first 1,000 characters of a message.
func (r *Reader) findText(ctx context.Context, q database.Querier, query session.ListQuery, where string, args []any) (
	condition, next string, extended []any, err error) {
	rows, err := q.QueryContext(ctx, `select id, updated_at, created_at, name, title, `+
		openingOf("content")+`, `+openingOf("stored")+` from sessions where `+where, args...)
	if err != nil {
		return "", "", nil, fmt.Errorf("look for a text in sessions: %w", err)
	}
	defer rows.Close()
	var found []session.Session
	most := query.Limit + 1
	for wanted := folded(query.Text); len(found) < most && rows.Next(); {
		var (
			one             session.Session
			name, title     string
			content, stored sql.NullString
		)
		if err := rows.Scan(&one.ID, &one.UpdatedAt, &one.CreatedAt, &name, &title, &content, &stored); err != nil {
			return "", "", nil, fmt.Errorf("look for a text in sessions: %w", err)
		}
		first := transcript.ContentOf(content.String, stored)
		if title == "" {
			title = session.NewChatTitle
		}
		// Clients of codex-manager see the title, all others the name.
		if occurs(wanted, database.DecodeText(name)) || occurs(wanted, database.DecodeText(title)) || occurs(wanted, beginning(first)) {
			found = append(found, one)
		}
	}
	if err := rows.Err(); err != nil {
		return "", "", nil, fmt.Errorf("look for a text in sessions: %w", err)
	}
	if len(found) == 0 {
		return " and 1 = 0", "", args, nil
	}
	if len(found) == most {
		found = found[:most-1]
		last := found[most-2]
		last.ID = database.DecodeText(last.ID)
		next = query.Sort.CursorAfter(last)
	}
	places := make([]string, len(found))
	for i, one := range found {
		args = append(args, one.ID)
		places[i] = "$" + strconv.Itoa(len(args))
	}
	return " and id in (" + strings.Join(places, ", ") + ")", next, args, nil
}

// beginning returns the searched part of a message.
func beginning(message string) string {
	most := 1000 // characters
	for n := range message {
		if most--; most < 0 {
			return message[:n]
		}
	}
	return message
}

// occurs reports whether a folded text contains another.
func occurs(wanted, in string) bool { return strings.Contains(folded(in), wanted) }

// folded normalizes a text: its case and the encoding of its accents.
func folded(text string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(text))) }
