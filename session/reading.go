package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"harness/journal"
	"harness/transcript"
)

// Get reads a session with its whole transcript.
func (s *Service) Get(ctx context.Context, sessionID string) (Detail, error) {
	return s.Read(ctx, sessionID, Reading{})
}

// Read reads a session with its transcript, or a window of it: the same entries in the same order. It shows what is stored and asks no
// runtime, except once for a history from elsewhere that is not stored yet (takeHistory). A window costs the same whatever the length of the
// transcript. Errors are those of Lookup, and transcript.ErrBadCursor.
func (s *Service) Read(ctx context.Context, sessionID string, want Reading) (Detail, error) {
	session, err := s.Lookup(ctx, sessionID)
	if err != nil {
		return Detail{}, err
	}
	if session, err = s.takeHistory(ctx, session); err != nil {
		return Detail{}, err
	}
	q := s.db.Read()
	// Before anything else is read: what changes from here on makes another version.
	version, err := s.version(ctx, session, want.Window)
	if err != nil {
		return Detail{}, err
	}
	detail := Detail{Session: session, Version: version}
	if want.Has != nil && want.Has(version) {
		detail.Unchanged = true
		return detail, nil
	}
	if err := s.fillActivity(ctx, q, &detail.Session); err != nil {
		return Detail{}, err
	}
	var turns []turnRow
	if want.Window == nil {
		detail.Transcript, detail.encodings, err = s.entries.ListEncoded(ctx, q, sessionID)
		if err == nil {
			turns, err = readTurns(ctx, q, sessionID)
		}
	} else {
		var stretch transcript.Stretch
		if stretch, err = s.entries.Window(ctx, q, sessionID, *want.Window); err == nil {
			detail.Transcript, detail.Older, detail.Newer = stretch.Entries, stretch.Older, stretch.Newer
			turns, err = readTurnsOf(ctx, q, sessionID, stretch.Entries)
		}
	}
	if err != nil {
		return Detail{}, err
	}
	detail.Session.Thread, err = s.describeThread(ctx, q, detail.Session, detail.Transcript, turns, want.Window == nil)
	transcript.Settle(detail.Transcript, times(turns))
	return detail, err
}

// version names what a reader gets. It costs two look-ups by key, whatever the length of the transcript: every change of an entry either
// comes with an event, which moves the session's sequence number, or is a new entry, or takes in a history.
func (s *Service) version(ctx context.Context, session Session, window *transcript.Window) (string, error) {
	seq, err := journal.Sequence(ctx, s.db.Read(), session.ID)
	if err != nil {
		return "", err
	}
	last, err := s.entries.Last(ctx, s.db.Read(), session.ID)
	if err != nil {
		return "", err
	}
	s.load(session.Runtime, session.ID)
	sum := sha256.Sum256(encode(struct {
		Session            Session
		Seq, Last, History int64
		ActiveTurn         string
		Window             *transcript.Window
	}{session, seq, last, session.historyAt, s.view.active(session.ID), window}))
	return hex.EncodeToString(sum[:16]), nil
}

// withoutTurns is a runtime's description of a conversation without the history some answers carry in it.
func withoutTurns(raw json.RawMessage) json.RawMessage {
	fields := parseObject(raw)
	if turns, ok := fields.get("turns"); !ok || string(turns) == "[]" {
		return raw
	}
	return fields.set(member{"turns", json.RawMessage("[]")}).encode()
}
