package transcript

import (
	"context"
	"errors"
	"slices"

	"harness/internal/platform/database"
)

// ErrBadCursor says that a window begins at a message that the transcript does not have.
var ErrBadCursor = errors.New("no entry of the transcript has this message id")

// Window selects a stretch of a transcript: the newest Limit entries (at least 1), with Before those just before the
// entry of that message id, with After those that follow it, with Around those it stands among, with FromStart the oldest
// ones. One of the four at most.
type Window struct {
	Limit                 int
	Before, After, Around string
	FromStart             bool
}

// Range is the entries of a window, oldest first. Older and Newer are the Before and After that continue from
// here, "" where there is nothing more for now.
type Range struct {
	Entries      []Entry
	Older, Newer string
}

// Window reads a range of a session's entries in the order of List. An entry keeps its place, so that windows
// read one after the other show each entry once, whatever is added meanwhile. Entries of rolled-back turns
// are left out. Its cost does not depend on how much is stored. ErrBadCursor.
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

// around is the entry with half of the window before it and the other half behind it.
func (w Window) around(ctx context.Context, q database.Querier, session, kept string) (out Range, err error) {
	before := (w.Limit - 1) / 2
	if w.Limit -= before; before > 0 {
		half := Window{Limit: before, Before: w.Around}
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

// read reads the window's entries in reading order and one more, which shows whether there is more. Of Around
// it is the entry and what follows it.
func (w Window) read(ctx context.Context, q database.Querier, session, kept string) ([]Entry, error) {
	statement, args := w.statement(session, kept)
	entries, err := database.ReadAll(ctx, q, "read a window of the transcript of session "+session,
		func(row database.Row) (Entry, error) { return scanEntry(ctx, row) }, statement, args...)
	if !w.forward() {
		slices.Reverse(entries)
	}
	return entries, err
}

// statement reads the rows, the nearest to the window's place first.
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
	return `select ` + entryColumns + ` from transcript_entries where session_id = $1` + kept + which, args
}

// forward reports whether the wanted entries begin at the window's place.
func (w Window) forward() bool { return w.After != "" || w.Around != "" || w.FromStart }

// cut removes the extra entry that only showed that there is more. entries are in reading order.
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

// TurnTimes are the times of a turn as the harness saw them, in ms, 0 when unknown. A CompletedAt says the turn is
// over, Canceled that it did not come to its own end: it was interrupted or it failed.
type TurnTimes struct {
	StartedAt, CompletedAt int64
	Canceled               bool
}

// Settle gives stored entries the times and states that their turns' ends imply. It changes them in place.
func Settle(entries []Entry, times map[string]TurnTimes) {
	for i := range entries {
		at := times[entries[i].TurnID]
		settle(&entries[i], at, at.CompletedAt != 0)
	}
}

func instant(at int64) *int64 { return &at }

// settle fills in what the entry's turn says about it.
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
