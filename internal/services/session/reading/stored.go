package reading

import (
	"context"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Limits of a list page.
const (
	defaultPage = 100
	largestPage = 200
)

// Keeps reports whether a session is stored; it calls no runtime.
func (r *Reader) Keeps(ctx context.Context, sessionID string) (bool, error) {
	_, err := store.ReadSession(ctx, r.db.Read(), sessionID)
	var deleted *session.DeletedError
	if errors.Is(err, session.ErrNotFound) || errors.As(err, &deleted) {
		return false, nil
	}
	return err == nil, err
}

// Stored reads a session from its row.
func (r *Reader) Stored(ctx context.Context, sessionID string) (session.Session, error) {
	return r.StoredIn(ctx, r.db.Read(), sessionID)
}

// StoredIn is Stored within a read of the store.
func (r *Reader) StoredIn(ctx context.Context, q database.Querier, sessionID string) (session.Session, error) {
	row, err := store.ReadSession(ctx, q, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	defaults, err := r.DefaultControls(ctx, q)
	if err != nil {
		return session.Session{}, err
	}
	return row.Effective(r.runtimes.DefaultsFor(row.Runtime, defaults))
}

// TranscriptPage reads at most limit entries after the first offset ones. The order is that of Read or, if reversed,
// newest first. It reads only that page, and counts the transcript's length in an index. Errors are those of Lookup.
func (r *Reader) TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
	page session.TranscriptPage, err error) {
	session, err := r.sessions.Lookup(ctx, sessionID)
	if err == nil {
		err = r.sessions.AwaitHistory(ctx, session)
	}
	if err != nil {
		return page, err
	}
	err = r.db.Snapshot(ctx, func(q database.Querier) error {
		if page.Total, err = r.entries.Count(ctx, q, sessionID); err != nil {
			return err
		}
		if page.Entries, err = r.entries.Page(ctx, q, sessionID, offset, limit, newestFirst); err != nil {
			return err
		}
		if err := r.ShowTexts(ctx, q, sessionID, page.Entries); err != nil {
			return err
		}
		turns, err := store.ReadTurnsOf(ctx, q, sessionID, page.Entries)
		transcript.Settle(page.Entries, store.TurnTimes(turns))
		return err
	})
	return page, err
}

// Text reads a range of an entry's content: at most the given number of bytes from an offset.
// session.ErrNoEntry.
func (r *Reader) Text(ctx context.Context, sessionID, messageID string, offset int64, bytes int) (transcript.Text, error) {
	text, found, err := r.entries.Text(ctx, r.db.Read(), sessionID, messageID, offset, bytes)
	if err == nil && !found {
		err = session.ErrNoEntry
	}
	return text, err
}

// MessageCounts returns the number of entries in each session's transcript.
func (r *Reader) MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := r.db.Snapshot(ctx, func(q database.Querier) error {
		for _, id := range sessionIDs {
			count, err := r.entries.Count(ctx, q, id)
			if err != nil {
				return err
			}
			counts[id] = count
		}
		return nil
	})
	return counts, err
}
