package transcript

import (
	"context"
	"errors"
	"slices"

	"harness/internal/platform/database"
)

// ErrBadCursor means that a window starts at a message that the transcript does not have.
var ErrBadCursor = errors.New("no entry of the transcript has this message id")

// Window selects a range of a transcript: by default the newest Limit entries (at least 1). Before selects the entries
// just before the entry with that message id. After selects those that follow it, Around those on both sides.
// FromStart selects the oldest entries. At most one of the four may be set.
type Window struct {
	Limit                 int
	Before, After, Around string
	FromStart             bool
	// Beginning, if set, omits what exceeds that many bytes of the content of entries that are stored in parts, and their
	// details (Entry.Cut). Store.Text reads the rest.
	Beginning int
}

// Range is the entries of a window, oldest first. Older and Newer are the Before and After that continue from here, ""
// if there are no more entries now.
type Range struct {
	Entries      []Entry
	Older, Newer string
}

// Window reads a range of a session's entries in the order of List. Entries keep their places, so consecutive windows
// show each entry once, even if entries are added in between. It omits entries of rolled-back turns. Its cost does not
// depend on the amount stored. Errors include ErrBadCursor.
func (Store) Window(ctx context.Context, q database.Querier, sessionID string, w Window) (Range, error) {
	session := database.EncodeText(sessionID)
	kept, err := keptOf(ctx, q, session)
	if err != nil {
		return Range{}, err
	}
	if w.Around != "" {
		return w.around(ctx, q, session, kept)
	}
	entries, err := w.read(ctx, q, session, kept)
	if err != nil {
		return Range{}, err
	}
	if cursor := w.Before + w.After; cursor != "" && len(entries) == 0 {
		_, there, err := (Store{}).Find(ctx, q, sessionID, cursor)
		if err != nil {
			return Range{}, err
		}
		if !there {
			return Range{}, ErrBadCursor
		}
	}
	return w.cut(entries), nil
}

// around returns the entry with half of the window before it and the other half after it.
func (w Window) around(ctx context.Context, q database.Querier, session, kept string) (out Range, err error) {
	before := (w.Limit - 1) / 2
	if w.Limit -= before; before > 0 {
		half := Window{Limit: before, Before: w.Around, Beginning: w.Beginning}
		entries, err := half.read(ctx, q, session, kept)
		if err != nil {
			return out, err
		}
		out = half.cut(entries)
	}
	entries, err := w.read(ctx, q, session, kept)
	if err != nil {
		return out, err
	}
	if len(entries) == 0 {
		return Range{}, ErrBadCursor
	}
	if before == 0 {
		out.Older = entries[0].MessageID
	}
	out.Newer = ""
	if len(entries) > w.Limit {
		entries = entries[:w.Limit]
		out.Newer = entries[w.Limit-1].MessageID
	}
	out.Entries = append(out.Entries, entries...)
	return out, nil
}

// read reads the window's entries in reading order and one more, which shows whether more exist. For Around, it reads
// the entry and those after it.
func (w Window) read(ctx context.Context, q database.Querier, session, kept string) ([]Entry, error) {
	statement, args := w.statement(session, kept)
	entries, err := database.ReadAll(ctx, q, "read a window of the transcript of session "+session,
		func(row database.Row) (Entry, error) {
			entry, err := scanEntry(ctx, row)
			if entry.Cut = errors.Is(err, errInParts); entry.Cut {
				err = nil
			}
			return entry, err
		}, statement, args...)
	for i := range entries {
		if one := &entries[i]; err == nil && one.Cut {
			one.Content, _, err = Store{}.Beginning(ctx, q, database.DecodeText(session), one.MessageID, w.Beginning)
		}
	}
	if !w.forward() {
		slices.Reverse(entries)
	}
	return entries, err
}

// statement returns a query for the rows, nearest to the window's place first.
func (w Window) statement(session, kept string) (string, []any) {
	const cursor = ` (select place, ordinal from transcript_entries where session_id = $1 and message_id = $3 and place >= 0)`
	const oldestFirst, newestFirst = ` order by place, ordinal limit $2`, ` order by place desc, ordinal desc limit $2`
	which := ` and place >= 0` + newestFirst
	switch {
	case w.Before != "":
		which = ` and place >= 0 and (place, ordinal) <` + cursor + newestFirst
	case w.After != "":
		which = ` and (place, ordinal) >` + cursor + oldestFirst
	case w.Around != "":
		which = ` and (place, ordinal) >=` + cursor + oldestFirst
	case w.FromStart:
		which = ` and place >= 0` + oldestFirst
	}
	args := []any{session, w.Limit + 1}
	if id := w.Before + w.After + w.Around; id != "" {
		args = append(args, database.EncodeText(id))
	}
	columns := entryColumns
	if w.Beginning > 0 {
		columns = briefColumns
	}
	return `select ` + columns + ` from transcript_entries where session_id = $1` + kept + which, args
}

// forward reports whether the wanted entries start at the window's place.
func (w Window) forward() bool { return w.After != "" || w.Around != "" || w.FromStart }

// cut removes the extra entry that only shows whether more exist. entries are in reading order.
func (w Window) cut(entries []Entry) Range {
	more := len(entries) > w.Limit
	out := Range{Entries: entries}
	switch {
	case !more:
	case w.forward():
		out.Entries = entries[:w.Limit]
	default:
		out.Entries = entries[len(entries)-w.Limit:]
	}
	if len(out.Entries) == 0 {
		return out
	}
	if w.After != "" || more && !w.FromStart {
		out.Older = out.Entries[0].MessageID
	}
	if w.Before != "" || w.forward() && more {
		out.Newer = out.Entries[len(out.Entries)-1].MessageID
	}
	return out
}

// TurnTimes are the times of a turn as the harness observed them, in ms, 0 if unknown. A CompletedAt means that the
// turn has ended. Canceled means that it was interrupted or failed.
type TurnTimes struct {
	StartedAt, CompletedAt int64
	Canceled               bool
}

// Settle sets the times and states of stored entries that follow from the ends of their turns. It changes entries in
// place.
func Settle(entries []Entry, times map[string]TurnTimes) {
	for i := range entries {
		at := times[entries[i].TurnID]
		settle(&entries[i], at, at.CompletedAt != 0)
	}
}

func instant(at int64) *int64 { return &at }

// settle fills in the fields of an entry that follow from its turn.
func settle(entry *Entry, turn TurnTimes, done bool) {
	if entry.StartedAt == nil && turn.StartedAt != 0 {
		entry.StartedAt = instant(turn.StartedAt)
	}
	if !done {
		return
	}
	switch {
	case entry.Status != Streaming:
	case turn.Canceled:
		entry.Status = Canceled
	default:
		entry.Status = Complete
	}
	if entry.CompletedAt == nil && turn.CompletedAt != 0 {
		entry.CompletedAt = instant(turn.CompletedAt)
	}
	*entry = settleTimes(*entry)
}
