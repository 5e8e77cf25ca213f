package manager

import (
	"context"
	"errors"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// StopSession is StopTurn of the running turn, after which the runtime unloads the conversation and all followers of
// the session are notified. The next message loads it again, as does a queued one: it begins after all of that. Without
// anything to end it only notifies. GoesOn is the work that still runs.
func (s *stopper) StopSession(ctx context.Context, sessionID string, keepBackground bool) (stopped session.Stopped, err error) {
	release, locked := s.holdBriefly(ctx, sessionID)
	defer release()
	stored, err := s.options.Reader.Stored(ctx, sessionID)
	if err != nil {
		return session.Stopped{}, err
	}
	_, adapter, active, err := s.toInterrupt(ctx, sessionID, "")
	// A canceled caller does not revoke the stop.
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		stopped.TurnID, err = active, s.stopTurn(ctx, adapter, stored, active)
	}
	switch {
	case err == nil:
		stopped = s.endBackgroundOfTurn(ctx, sessionID, active, keepBackground)
	case errors.Is(err, session.ErrNoActiveTurn):
		stopped = session.Stopped{}
		if stopped.GoesOn, err = s.options.Monitor.Background(ctx, sessionID); err != nil {
			return stopped, err
		}
	default:
		return stopped, err
	}
	if locked {
		s.closeThread(ctx, stored)
	}
	return stopped, s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		return []journal.Event{session.NewEvent(sessionID, session.EventStopped, s.options.Now(), systemOwned, encode(struct{}{}))}, nil
	})
}

// closeThread has the runtime unload a session. After a failure the runtime unloads it once the session has been idle
// for long enough.
func (s *stopper) closeThread(ctx context.Context, session session.Session) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	adapter, err := s.options.Runtimes.Adapter(session.Runtime)
	if err == nil {
		err = adapter.Threads().CloseThread(ctx, session.ID)
	}
	if err != nil && !errors.Is(err, runtime.ErrUnavailable) {
		s.options.Logger.Info().Err(err).Str("session", session.ID).
			Msg("what the runtime keeps of a session that was stopped stays for now")
	}
}

// typeTurnStopped is the type of the entry that records who stopped a turn, and when.
const typeTurnStopped = "turn.stopped"

// turnStoppedPrefix begins the message id of that entry; the turn's id follows.
const turnStoppedPrefix = "turn-stopped-"

// recordStop records a stopped turn: as an event, and as a transcript entry.
func (s *stopper) recordStop(ctx context.Context, sessionID, turnID string) error {
	at, actor := s.options.Now(), s.options.Journal.Actor(ctx)
	return s.options.Record(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		events := []journal.Event{turnStopped(sessionID, turnID, at)}
		systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
		if session.Absent(err) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		entry, changed, err := s.entries.UpsertItem(ctx, tx, sessionID, entryOfStop(turnID, actor, at))
		if err != nil || !changed {
			return events, err
		}
		event, _ := session.TranscriptUpdated(sessionID, &entry, at, systemOwned)
		return append(events, event), nil
	})
}

// entryOfStop is the entry that records who stopped a turn; actor is "" for the server itself.
func entryOfStop(turnID, actor string, at int64) transcript.Entry {
	content := "Stopped"
	if actor != "" {
		content += " by " + actor
	}
	details := transcript.Indented(encode(struct {
		StoppedBy string `json:"stoppedBy,omitempty"`
		StoppedAt string `json:"stoppedAt"`
	}{actor, isoTime(at)}))
	return transcript.Entry{MessageID: turnStoppedPrefix + turnID, TurnID: turnID, Role: "system", Type: typeTurnStopped,
		Content: content, Details: &details, StartedAt: &at, CompletedAt: &at, Status: transcript.Complete}
}

// stopBackground bounds the time of a stop to end the background work of its turn.
const stopBackground = 10 * time.Second

// StopTurn stops the running turn and returns after its end; TurnID "" means any turn. It ends the process of an agent
// that does not end the turn within stopPatience. The turn's background work ends with it, unless that is to be kept;
// the work of earlier turns continues. Messages wait meanwhile, so none joins a turn that is being stopped.
// ErrNoActiveTurn when none runs, ErrWrongTurn when another one does, *NotStoppedError. GoesOn includes background work
// that could not be ended.
func (s *stopper) StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error) {
	sess, adapter, active, err := s.toInterrupt(ctx, sessionID, turnID)
	if err != nil {
		return session.Stopped{}, err
	}
	release, _ := s.holdBriefly(ctx, sessionID)
	defer release()
	// A canceled caller does not revoke the stop.
	ctx = context.WithoutCancel(ctx)
	if err := s.stopTurn(ctx, adapter, sess, active); err != nil {
		return session.Stopped{TurnID: active}, err
	}
	return s.endBackgroundOfTurn(ctx, sessionID, active, keepBackground), nil
}

// endBackgroundOfTurn ends the background work of a stopped turn, unless it is to be kept. Its earlier events then
// begin no turn.
func (s *stopper) endBackgroundOfTurn(ctx context.Context, sessionID, turnID string, keep bool) session.Stopped {
	ctx, cancel := context.WithTimeout(ctx, stopBackground)
	defer cancel()
	stopped := session.Stopped{TurnID: turnID}
	var err error
	if !keep {
		stopped.Ended, err = s.options.Monitor.EndBackgroundWhere(ctx, sessionID,
			func(task session.BackgroundTask) bool { return task.TurnID == turnID })
	}
	left, listed := s.options.Monitor.Background(ctx, sessionID)
	if err = errors.Join(err, listed); err != nil {
		s.options.Logger.Warn().Err(err).Str("session", sessionID).Str("turn", turnID).
			Msg("background work of a turn that was stopped may go on")
	}
	if stopped.GoesOn = left; !keep && len(left) == 0 {
		s.silence.begin(sessionID, s.options.Now()+quietFor)
	}
	return stopped
}
