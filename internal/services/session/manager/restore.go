package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
	"harness/transcript/window"
)

// typeRestored is the type of the transcript entry of a restored conversation. restoredPrefix starts its id; the
// turn's id follows.
const (
	typeRestored   = "conversation.restored"
	restoredPrefix = "restored-"
)

// errMemoryElsewhere means that the runtime's state of a session remained on another node.
var errMemoryElsewhere = fmt.Errorf("%w: what the runtime remembered stayed at another node", runtime.ErrThreadNotFound)

// historyBytes limits the replay of a lost conversation to its runtime, unless Options set another limit. It is about
// 50,000 tokens, which the smallest models in use accept together with their own instructions.
const historyBytes = 200_000

// startTurn makes the runtime start a turn. If the runtime has lost the conversation and supports it, startTurn
// replays it from the transcript; replay is nil otherwise. It does not replay sessions of the server's own workers:
// their owner opens another session.
func (s *Service) startTurn(ctx context.Context, adapter runtime.Adapter, sess session.Session, in runtime.StartTurn) (
	started runtime.StartedTurn, replay *session.Restored, err error) {
	if in.Continues, err = hasTurns(ctx, s.db.Read(), sess.ID); err != nil {
		return started, nil, err
	}
	again, err := store.NeedsReplay(ctx, s.db.Read(), sess.ID)
	if err != nil {
		return started, nil, err
	}
	if err = errMemoryElsewhere; !again {
		started, err = s.beginTurn(ctx, adapter, sess, in)
	}
	if !errors.Is(err, runtime.ErrThreadNotFound) || !in.Continues || sess.SystemOwned ||
		!runtime.CapabilitiesOf(adapter).Reconstruct {
		return started, nil, err
	}
	lost := err
	replay = &session.Restored{}
	if in.History, err = s.conversationText(ctx, sess.ID, replay); err != nil {
		return started, nil, errors.Join(lost, err)
	}
	if err := s.journal.Do(ctx, func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{SessionID: sess.ID, Type: session.EventRestored, Time: s.now(), Source: session.EventSource,
			Payload: encode(replay)}}, nil
	}); err != nil {
		return started, nil, errors.Join(lost, err)
	}
	in.ActiveTurnID, in.Cwd = "", cmp.Or(in.Cwd, s.opts.WorkspaceRoot)
	if started, err = adapter.Threads().StartTurn(ctx, in); err != nil {
		return started, nil, fmt.Errorf("%s had lost the conversation (%w) and could not be sent it again: %w", sess.Runtime,
			lost, err)
	}
	s.opts.Logger.Warn().Str("session", sess.ID).Str("turn", started.TurnID).Err(lost).
		Msg("runtime lost the conversation; replayed from the transcript")
	return started, replay, nil
}

// conversationText returns a session's transcript as text for an agent.
func (s *Service) conversationText(ctx context.Context, sessionID string, replay *session.Restored) (history string, err error) {
	var entries []transcript.Entry
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		if entries, err = s.entries.List(ctx, q, sessionID); err != nil {
			return err
		}
		return s.Reader.ShowTexts(ctx, q, sessionID, entries)
	})
	if err != nil {
		return "", err
	}
	var keep func(string) json.RawMessage
	if s.opts.Keep != nil {
		keep = func(output string) json.RawMessage {
			ref, failed := s.opts.Keep(ctx, sessionID, "tool_result.txt", "text/plain; charset=utf-8", []byte(output))
			err = errors.Join(err, failed)
			return ref
		}
	}
	turns, fitted := window.FitKeeping(window.Of(entries), s.opts.HistoryBytes, keep)
	if err != nil {
		return "", fmt.Errorf("keep long results of session %s: %w", sessionID, err)
	}
	for _, turn := range turns {
		replay.Messages += len(turn.Messages)
	}
	replay.Window = fitted
	history = window.Text(turns, fitted)
	if s.opts.Keep != nil {
		if replay.InputRef, err = s.opts.Keep(ctx, sessionID, "restored.txt", "text/plain; charset=utf-8",
			[]byte(history)); err != nil {
			return "", fmt.Errorf("keep what the runtime of session %s is sent: %w", sessionID, err)
		}
	}
	return history, nil
}

// hasTurns reports whether a session ever had a turn.
func hasTurns(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	found, err := database.ReadTexts(ctx, q, "look for a turn of session "+sessionID,
		`select turn_id from turns where session_id = $1 limit 1`, database.EncodeText(sessionID))
	return len(found) > 0, err
}

// restored records the replay of a conversation to a runtime, and its new native id ("" if unchanged).
func (s *Service) restored(ctx context.Context, tx database.Tx, sessionID string, started runtime.StartedTurn,
	replay *session.Restored, at int64) ([]journal.Event, error) {
	if started.NativeID != "" {
		err := store.UpdateSession(ctx, tx, sessionID, `runtime_session_id = $2`, database.EncodeText(started.NativeID))
		if err != nil {
			return nil, err
		}
	}
	if err := store.Replayed(ctx, tx, sessionID); err != nil {
		return nil, err
	}
	return s.Upserter.UpsertTranscriptIn(ctx, tx, sessionID, entryOfRestored(started.TurnID, replay, at))
}

// entryOfRestored returns the transcript entry of a replay: the agent knows the conversation only from its record.
func entryOfRestored(turnID string, replay *session.Restored, at int64) transcript.Entry {
	said := []string{fmt.Sprintf("The runtime had lost this conversation. The agent was sent the %d messages of its record "+
		"again and goes on from there; it knows nothing else of what was before.", replay.Messages)}
	if n := len(replay.Window.OmittedTurns); n > 0 {
		said = append(said, fmt.Sprintf("The oldest %d turns were left out because of their length.", n))
	}
	if n := len(replay.Window.CutOutputs); n > 0 {
		said = append(said, fmt.Sprintf("%d long outputs of tools were cut.", n))
	}
	details := transcript.Indented(encode(replay))
	return transcript.Entry{MessageID: restoredPrefix + turnID, TurnID: turnID, Role: "system",
		Type: typeRestored, Content: strings.Join(said, " "), Details: &details, StartedAt: &at, CompletedAt: &at,
		Status: transcript.Complete}
}

const (
	// restartPatience is how long a message waits for the process that replaces a dead one.
	restartPatience = 10 * time.Second
	// restartPause is the time between two checks for that process.
	restartPause = 100 * time.Millisecond
)

// beginTurn makes a runtime start a turn with a message, or steer it into the running one. If the process died before
// it started a turn, the next process gets the message. It returns runtime.ErrProcessGone if no process starts in
// time.
func (s *Service) beginTurn(ctx context.Context, adapter runtime.Adapter, session session.Session, in runtime.StartTurn) (
	runtime.StartedTurn, error) {
	before, _ := s.index.Get(session.ID)
	waiting, cancel := context.WithTimeout(ctx, s.restartPatience)
	defer cancel()
	for {
		generation, _ := s.index.Generation(session.Runtime, session.ID)
		started, err := adapter.Threads().StartTurn(ctx, in)
		if !errors.Is(err, runtime.ErrProcessGone) || !s.awaitExit(waiting, session, generation) {
			return started, err
		}
		now, _ := s.index.Get(session.ID)
		if turnID := now.TurnSince(before); turnID != "" {
			return runtime.StartedTurn{TurnID: turnID}, nil // it ended with the process
		}
		in.ActiveTurnID = now.ActiveTurn
	}
}

// awaitExit waits until a dead process's output is stored, and briefly after that. It returns false if that takes too
// long.
func (s *Service) awaitExit(ctx context.Context, session session.Session, generation string) bool {
	for {
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return false
		}
		if live, down := s.index.Generation(session.Runtime, session.ID); down || live != generation || live == "" {
			return true
		}
	}
}
