package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/session/usage"
	"harness/transcript"
)

// Get reads a session with its whole transcript.
func (s *Service) Get(ctx context.Context, sessionID string) (session.Detail, error) {
	return s.Read(ctx, sessionID, session.Reading{})
}

// Read reads a session with its transcript, or a window of it: the same entries in the same order, at one position of
// the event stream. It shows what is stored and asks no runtime. A history from elsewhere that is being taken in is
// waited for, not longer than 5 s; without it the answer says HistoryPending. A window costs the same whatever the
// length of the transcript. Errors are those of Lookup, and transcript.ErrBadCursor.
func (s *Service) Read(ctx context.Context, sessionID string, want session.Reading) (session.Detail, error) {
	sess, err := s.Lookup(ctx, sessionID)
	if err != nil {
		return session.Detail{}, err
	}
	if err := s.awaitHistory(ctx, sess); err != nil {
		return session.Detail{}, err
	}
	s.load(sess.Runtime, sessionID)
	detail := session.Detail{Count: -1}
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		if detail.Session, err = s.storedIn(ctx, q, sessionID); err != nil {
			return err
		}
		detail.HistoryPending = detail.Session.HistoryAt == 0
		if adapter, err := s.Adapter(sess.Runtime); err == nil && detail.Session.Capabilities == nil {
			detail.Session.Capabilities = encode(runtime.CapabilitiesOf(adapter))
		}
		if detail.Version, err = s.version(ctx, q, detail.Session, want); err != nil {
			return err
		}
		if detail.Unchanged = want.Has != nil && want.Has(detail.Version); detail.Unchanged {
			return nil
		}
		return s.readEntries(ctx, q, &detail, want)
	})
	return detail, err
}

func (s *Service) readEntries(ctx context.Context, q database.Querier, detail *session.Detail, want session.Reading) (err error) {
	window := want.Window
	if err := s.fillActivity(ctx, q, &detail.Session); err != nil {
		return err
	}
	if want.Figures {
		if err := usage.FillFigures(ctx, q, &detail.Session); err != nil {
			return err
		}
		if err := store.FillReadMarkers(ctx, q, want.Reader, &detail.Session); err != nil {
			return err
		}
	}
	if window == nil {
		err = s.readWhole(ctx, q, detail, want.Pieces)
	} else {
		err = s.readWindow(ctx, q, detail, want)
	}
	if err == nil && want.Count {
		detail.Count, err = s.entries.Count(ctx, q, detail.Session.ID)
	}
	if err == nil {
		detail.Pos, err = cursorOf(ctx, q)
	}
	return err
}

func (s *Service) readWindow(ctx context.Context, q database.Querier, detail *session.Detail, want session.Reading) error {
	id := detail.Session.ID
	stretch, err := s.entries.Window(ctx, q, id, *want.Window)
	if err != nil {
		return err
	}
	detail.Transcript, detail.Older, detail.Newer = stretch.Entries, stretch.Older, stretch.Newer
	turns, err := store.ReadTurnsOf(ctx, q, id, stretch.Entries)
	if err != nil {
		return err
	}
	if err := s.showTexts(ctx, q, id, detail.Transcript); err != nil {
		return err
	}
	if words := s.describerOf(detail.Session); words != nil {
		state, err := s.threadState(ctx, q, detail.Session)
		if err != nil {
			return err
		}
		detail.Session.Thread = words.Describe(detail.Session.Thread, state)
	}
	transcript.Settle(detail.Transcript, store.TurnTimes(turns))
	if want.OmitDetails {
		for i := range detail.Transcript {
			detail.Transcript[i].OmitDetails()
		}
	}
	return nil
}

// version names what a reader gets. It costs three look-ups by key, whatever the length of the transcript: every change
// of an entry either comes with an event, which moves the session's sequence number, or is a new entry, or takes in a
// history.
func (s *Service) version(ctx context.Context, q database.Querier, sess session.Session, want session.Reading) (string, error) {
	seq, err := journal.Sequence(ctx, q, sess.ID)
	if err != nil {
		return "", err
	}
	last, err := s.entries.Last(ctx, q, sess.ID)
	if err != nil {
		return "", err
	}
	// What was read when the journal still had more tells a cursor that may be lost by now.
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
	sum := sha256.Sum256(encode(struct {
		Session                    session.Session
		Seq, Last, History, Oldest int64
		ActiveTurn                 string
		Unresponsive               bool
		Window                     *transcript.Window
		Figures, Count, Omit       bool
		ReadTo                     string
	}{sess, seq, last, sess.HistoryAt, oldest, s.index.ActiveTurn(sess.ID), s.unresponsive(sess), want.Window,
		want.Figures, want.Count, want.OmitDetails, read}))
	return hex.EncodeToString(sum[:16]), nil
}

// withoutTurns is a runtime's description of a conversation without the history some answers carry in it.
func withoutTurns(raw json.RawMessage) json.RawMessage {
	fields := jsonobject.Parse(raw)
	if turns := fields.Get("turns"); turns == nil || string(turns) == "[]" {
		return raw
	}
	return fields.Set("turns", json.RawMessage("[]")).Encode()
}
