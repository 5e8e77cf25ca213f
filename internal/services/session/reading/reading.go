package reading

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/session/usage"
	"harness/transcript"
)

// Get reads a session with its full transcript.
func (r *Reader) Get(ctx context.Context, sessionID string) (session.Detail, error) {
	return r.Read(ctx, sessionID, session.Reading{})
}

// Read reads a session with its transcript, or a window of it: the same entries in the same order, at one position of
// the event stream. It reads the store and calls no runtime. It waits at most 5 s for the import of a history; without
// the history, the result has HistoryPending set. The cost of a window does not depend on the length of the
// transcript. Errors are those of Lookup, and transcript.ErrBadCursor.
func (r *Reader) Read(ctx context.Context, sessionID string, want session.Reading) (session.Detail, error) {
	sess, err := r.sessions.Lookup(ctx, sessionID)
	if err != nil {
		return session.Detail{}, err
	}
	if err := r.sessions.AwaitHistory(ctx, sess); err != nil {
		return session.Detail{}, err
	}
	r.sessions.LoadView(sess.Runtime, sessionID)
	detail := session.Detail{Count: -1}
	err = r.db.Snapshot(ctx, func(q database.Querier) error {
		if detail.Session, err = r.StoredIn(ctx, q, sessionID); err != nil {
			return err
		}
		detail.HistoryPending = detail.Session.HistoryAt == 0
		if adapter, err := r.runtimes.Adapter(sess.Runtime); err == nil && detail.Session.Capabilities == nil {
			detail.Session.Capabilities = javascript.MustEncode(runtime.CapabilitiesOf(adapter))
		}
		if detail.Version, err = r.version(ctx, q, detail.Session, want); err != nil {
			return err
		}
		if detail.Unchanged = want.Has != nil && want.Has(detail.Version); detail.Unchanged {
			return nil
		}
		return r.readEntries(ctx, q, &detail, want)
	})
	return detail, err
}

func (r *Reader) readEntries(ctx context.Context, q database.Querier, detail *session.Detail, want session.Reading) (err error) {
	window := want.Window
	if err := r.fillActivity(ctx, q, &detail.Session); err != nil {
		return err
	}
	if want.Figures {
		if err := usage.FillFigures(ctx, q, &detail.Session); err != nil {
			return err
		}
		if err := errors.Join(fillNames(ctx, q, &detail.Session), r.fillLines(ctx, q, &detail.Session)); err != nil {
			return err
		}
		if err := store.FillReadMarkers(ctx, q, want.Reader, &detail.Session); err != nil {
			return err
		}
	}
	if window == nil {
		err = r.readWhole(ctx, q, detail, want.Chunks)
	} else {
		err = r.readWindow(ctx, q, detail, want)
	}
	if err == nil && want.Count {
		detail.Count, err = r.entries.Count(ctx, q, detail.Session.ID)
	}
	if err == nil {
		detail.Pos, err = CursorOf(ctx, q)
	}
	return err
}

func (r *Reader) readWindow(ctx context.Context, q database.Querier, detail *session.Detail, want session.Reading) error {
	id := detail.Session.ID
	read, err := r.entries.Window(ctx, q, id, *want.Window)
	if err != nil {
		return err
	}
	detail.Transcript, detail.Older, detail.Newer = read.Entries, read.Older, read.Newer
	turns, err := store.ReadTurnsOf(ctx, q, id, read.Entries)
	if err != nil {
		return err
	}
	if err := r.ShowTexts(ctx, q, id, detail.Transcript); err != nil {
		return err
	}
	if words := r.describerOf(detail.Session); words != nil {
		state, err := r.threadState(ctx, q, detail.Session)
		if err != nil {
			return err
		}
		detail.Session.Thread = words.Describe(detail.Session.Thread, state)
	}
	transcript.Settle(detail.Transcript, store.TurnTimes(turns))
	if want.Figures {
		if err := r.entries.ByTime(ctx, q, id, detail.Transcript); err != nil {
			return err
		}
		if detail.Authors, err = store.AuthorsOf(ctx, q, id, detail.Transcript); err != nil {
			return err
		}
	}
	if want.OmitDetails {
		for i := range detail.Transcript {
			detail.Transcript[i].OmitDetails()
		}
	}
	return nil
}

// version identifies a reader's result. It costs three look-ups by key, regardless of the transcript's length. A
// change of an entry either is a new entry or an import, or comes with an event. The event advances the session's
// sequence number.
func (r *Reader) version(ctx context.Context, q database.Querier, sess session.Session, want session.Reading) (string, error) {
	seq, err := journal.Sequence(ctx, q, sess.ID)
	if err != nil {
		return "", err
	}
	last, err := r.entries.Last(ctx, q, sess.ID)
	if err != nil {
		return "", err
	}
	// After a trim of the journal, the cursor of an earlier read may be lost.
	oldest, _, err := journal.Bounds(ctx, q)
	if err != nil {
		return "", err
	}
	read := ""
	if want.Figures {
		if read, err = readTo(ctx, q, want.Reader, sess.ID); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(javascript.MustEncode(struct {
		Session                    session.Session
		Seq, Last, History, Oldest int64
		ActiveTurn                 string
		Unresponsive               bool
		Window                     *transcript.Window
		Figures, Count, Omit       bool
		ReadTo                     string
	}{sess, seq, last, sess.HistoryAt, oldest, r.index.ActiveTurn(sess.ID), r.unresponsive(sess), want.Window,
		want.Figures, want.Count, want.OmitDetails, read}))
	return hex.EncodeToString(sum[:16]), nil
}
