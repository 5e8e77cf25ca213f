package journal

import (
	"context"
	"strconv"

	"harness/internal/platform/database"
)

// Selection is a range of the journal by position, with a filter. A field that is "" or 0 does not filter.
type Selection struct {
	// After and Before bound the positions, both exclusive.
	After, Before int64
	// Backwards starts with the newest event.
	Backwards bool
	Session   string
	Actor     string
	// Since and Until bound the time (ms): Since inclusive, Until exclusive.
	Since, Until int64
	// Limit is the maximum number of records to read.
	Limit int
}

// Browse reads a selection. Its cost grows with the range, not with the journal.
func (r *reader) Browse(ctx context.Context, want Selection) ([]Record, error) {
	where, args := `pos > `+kept+` and pos < $2`, []any{want.After, want.Before}
	add := func(text string, value any) {
		args = append(args, value)
		where += ` and ` + text + ` $` + strconv.Itoa(len(args))
	}
	if want.Session != "" {
		add(`session_id =`, database.EncodeText(want.Session))
	}
	if want.Actor != "" {
		add(`actor =`, database.EncodeText(want.Actor))
	}
	if want.Since > 0 {
		add(`time >=`, want.Since)
	}
	if want.Until > 0 {
		add(`time <`, want.Until)
	}
	order := ` order by pos`
	if want.Backwards {
		order += ` desc`
	}
	args = append(args, want.Limit)
	return r.read(ctx, `select `+stored+` from journal_events where `+where+order+` limit $`+strconv.Itoa(len(args)), args...)
}
