package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"harness/journal"
	"harness/runtime"
	"harness/transcript"
)

// Get reads a session with its whole transcript.
func (s *Service) Get(ctx context.Context, sessionID string) (Detail, error) {
	return s.Read(ctx, sessionID, Reading{})
}

// Read reads a session with its transcript: the runtime's own history with what is stored here. When the runtime can not be asked, the
// stored part is all there is, and that is no error.
//
// A window is read from the store alone, at a cost that does not grow with the transcript, once the store is known to hold everything the
// runtime's history has: always for sessions created here, for others if that showed when they were read before. Of conversations with a
// history from elsewhere (adopted, forked) the whole is read and cut. Errors are those of Lookup, and transcript.ErrBadCursor.
func (s *Service) Read(ctx context.Context, sessionID string, want Reading) (Detail, error) {
	session, err := s.Lookup(ctx, sessionID)
	if err != nil {
		return Detail{}, err
	}
	state := s.runtimeState(session)
	s.load(session.Runtime, sessionID)
	known, _ := s.view.get(sessionID)
	enough := want.Window != nil && (!state.ready || known.historyIn != "" && known.historyIn == state.generation)
	// Before anything else is read: what changes from here on makes another version.
	version, err := s.version(ctx, session, known.activeTurn, want.Window, state, enough)
	if err != nil {
		return Detail{}, err
	}
	detail := Detail{Session: session, Version: version}
	if want.Window != nil {
		detail.Session.Thread = withoutTurns(session.Thread)
	}
	if version != "" && want.Has != nil && want.Has(version) {
		detail.Unchanged = true
		return detail, nil
	}
	if enough {
		stretch, err := s.readWindow(ctx, sessionID, *want.Window)
		detail.Transcript, detail.Older, detail.Newer = stretch.Entries, stretch.Older, stretch.Newer
		return detail, err
	}
	return s.readWhole(ctx, detail, want.Window, state)
}

// readWindow reads a stretch of what is stored here.
func (s *Service) readWindow(ctx context.Context, sessionID string, window transcript.Window) (transcript.Stretch, error) {
	stretch, err := s.entries.Window(ctx, s.db.Read(), sessionID, window)
	if err != nil {
		return transcript.Stretch{}, err
	}
	turns, err := readTurnsOf(ctx, s.db.Read(), sessionID, stretch.Entries)
	if err != nil {
		return transcript.Stretch{}, err
	}
	transcript.Settle(stretch.Entries, times(turns))
	return stretch, nil
}

// readWhole merges the runtime's history with what is stored here, and notes whether the store alone would have done.
func (s *Service) readWhole(ctx context.Context, detail Detail, window *transcript.Window, state runtimeState) (Detail, error) {
	id := detail.Session.ID
	var base []transcript.Turn
	history, asked := s.readHistory(ctx, detail.Session, state)
	if asked {
		if len(history.Raw) > 0 && window == nil {
			detail.Session.Thread = history.Raw
		}
		base = turnsOf(history)
	}
	turns, err := readTurns(ctx, s.db.Read(), id)
	if err != nil {
		return Detail{}, err
	}
	stored, err := s.entries.List(ctx, s.db.Read(), id)
	if err != nil {
		return Detail{}, err
	}
	detail.Transcript = transcript.Assemble(base, stored, times(turns))
	if asked && transcript.Holds(stored, detail.Transcript) {
		s.view.change(id, func(t *thread) { t.historyIn = state.generation })
	}
	if window == nil {
		return detail, nil
	}
	stretch, err := window.Of(detail.Transcript)
	detail.Transcript, detail.Older, detail.Newer = stretch.Entries, stretch.Older, stretch.Newer
	return detail, err
}

// runtimeState is what of a runtime decides on how a session is read.
type runtimeState struct {
	ready      bool
	generation string
}

// runtimeState is how the session's runtime stands; another node's is not there to be asked.
func (s *Service) runtimeState(session Session) runtimeState {
	adapter, err := s.adapter(session.Runtime)
	if err != nil || !s.owns(session) {
		return runtimeState{}
	}
	status := adapter.Status()
	return runtimeState{ready: status.State == runtime.StateReady, generation: status.Generation}
}

// flushGrace (ms) is how long after a change the runtime's own history may still lag behind what it told.
const flushGrace = 2000

// version names what a reader gets. It costs two look-ups by key, whatever the length of the transcript: every change of an entry either
// comes with an event, which moves the session's sequence number, or is a new last entry.
func (s *Service) version(ctx context.Context, session Session, activeTurn string, window *transcript.Window, state runtimeState, enough bool) (string, error) {
	if !enough && s.now()-session.UpdatedAt < flushGrace {
		return "", nil
	}
	seq, err := journal.Sequence(ctx, s.db.Read(), session.ID)
	if err != nil {
		return "", err
	}
	last, err := s.entries.Last(ctx, s.db.Read(), session.ID)
	if err != nil {
		return "", err
	}
	parts := struct {
		Session    Session
		Seq, Last  int64
		ActiveTurn string
		Window     *transcript.Window
		Ready      bool
		Generation string
	}{session, seq, last, activeTurn, window, state.ready, state.generation}
	if enough {
		parts.Ready, parts.Generation = false, "" // the runtime is not part of it
	}
	sum := sha256.Sum256(encode(parts))
	return hex.EncodeToString(sum[:16]), nil
}

// readHistory asks the runtime, if it is there to answer now: a reader does not wait for one that is down or starting.
func (s *Service) readHistory(ctx context.Context, session Session, state runtimeState) (runtime.Thread, bool) {
	adapter, err := s.adapter(session.Runtime)
	if err != nil || !state.ready {
		return runtime.Thread{}, false
	}
	t, err := adapter.ReadThread(ctx, session.RuntimeSessionID, true)
	if err != nil {
		s.opts.Logger.Warn().Err(err).Str("session", session.ID).Msg("the runtime's history could not be read; showing what is stored here")
		return runtime.Thread{}, false
	}
	return t, true
}

func turnsOf(t runtime.Thread) []transcript.Turn {
	turns := make([]transcript.Turn, 0, len(t.Turns))
	for _, turn := range t.Turns {
		out := transcript.Turn{ID: turn.ID, Done: turn.Status != runtime.TurnInProgress, StartedAt: turn.StartedAt,
			CompletedAt: turn.CompletedAt}
		for _, item := range turn.Items {
			entry := transcript.Entry{MessageID: item.ID, TurnID: turn.ID, Role: item.Role, Type: item.Type, Content: item.Content,
				Status: transcript.Complete}
			if item.Details != "" {
				details := item.Details
				entry.Details = &details
			}
			out.Entries = append(out.Entries, entry)
		}
		turns = append(turns, out)
	}
	return turns
}

// withoutTurns is a runtime's description of a conversation without the history some answers carry in it.
func withoutTurns(raw json.RawMessage) json.RawMessage {
	fields := parseObject(raw)
	if turns, ok := fields.get("turns"); !ok || string(turns) == "[]" {
		return raw
	}
	return fields.set(member{"turns", json.RawMessage("[]")}).encode()
}
