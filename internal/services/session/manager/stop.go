package manager

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/lib/lifecycle"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/live"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// stopperOptions configure Stopper.
type stopperOptions struct {
	Journal  *journal.Journal
	DB       *database.DB
	Index    *live.Index
	Locks    *keylock.Locks
	Loops    *lifecycle.Loops
	Reader   *reading.Reader
	Runtimes *registry.Registry
	Monitor  *background.Monitor

	CheckOwner func(one session.Session) error
	LoadView   func(runtimeName, sessionID string)
	Record     func(ctx context.Context, done journal.Unit) error
	Enqueue    func(ctx context.Context, tx database.Tx, one session.QueuedMessage, state session.QueuedState, mark, failure string) (
		[]journal.Event, error)
	UpsertIn func(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry) ([]journal.Event, error)
	Logger   zerolog.Logger
	Now      func() int64 // ms
}

// Stopper ends turns, and the other running work of a session.
type Stopper struct {
	options stopperOptions
	entries transcript.Store
	silence silenceTimers
	// stopPatience is how long an agent has to end a stopped turn.
	stopPatience time.Duration
}

// StopSession runs StopTurn for the running turn. The runtime then unloads the conversation, and the server notifies
// all followers of the session. The next message, also a queued one, starts after all of that and loads the
// conversation again. If there is nothing to end, StopSession only notifies. GoesOn is the work that still runs.
func (s *Stopper) StopSession(ctx context.Context, sessionID string, keepBackground bool) (stopped session.Stopped, err error) {
	awaitTurn(ctx, s.options.Index, s.options.Locks, sessionID)
	release, locked := s.holdBriefly(ctx, sessionID)
	defer release()
	stored, err := s.options.Reader.Stored(ctx, sessionID)
	if err != nil {
		return session.Stopped{}, err
	}
	_, adapter, active, err := s.toInterrupt(ctx, sessionID, "")
	// A canceled caller does not cancel the stop.
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
	return stopped, s.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		return []journal.Event{session.NewEvent(sessionID, session.EventStopped, s.options.Now(), systemOwned, encode(struct{}{}))}, nil
	})
}

// closeThread makes the runtime unload a session. If that fails, the runtime unloads the session once it has been idle
// long enough.
func (s *Stopper) closeThread(ctx context.Context, session session.Session) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	adapter, err := s.options.Runtimes.Adapter(session.Runtime)
	if err == nil {
		err = adapter.Threads().CloseThread(ctx, session.ID)
	}
	if err != nil && !errors.Is(err, runtime.ErrUnavailable) {
		s.options.Logger.Info().Err(err).Str("session", session.ID).
			Msg("the runtime keeps data of a stopped session for now")
	}
}

// turnStoppedPrefix starts the message id of that entry; the turn's id follows.
const turnStoppedPrefix = "turn-stopped-"

// recordStop records a stopped turn: as an event, and as a transcript entry.
func (s *Stopper) recordStop(ctx context.Context, sessionID, turnID string) error {
	at, actor := s.options.Now(), s.options.Journal.Actor(ctx)
	author := session.Author{Actor: actor, Name: s.options.Journal.ActorName(ctx)}
	return s.options.Record(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		events := []journal.Event{turnStopped(sessionID, turnID, at)}
		systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
		if session.Absent(err) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		if err := store.NoteActor(ctx, tx, author); err != nil {
			return events, err
		}
		entry, changed, err := s.entries.UpsertItem(ctx, tx, sessionID, entryOfStop(turnID, actor, at))
		if err != nil || !changed {
			return events, err
		}
		event, _ := session.TranscriptUpdated(sessionID, &entry, at, systemOwned)
		return append(events, event), nil
	})
}

// entryOfStop returns the entry that records who stopped a turn; actor is "" for the server itself.
func entryOfStop(turnID, actor string, at int64) transcript.Entry {
	content := "Stopped"
	if actor != "" {
		content += " by " + actor
	}
	details := transcript.Indented(encode(struct {
		StoppedBy string `json:"stoppedBy,omitempty"`
		StoppedAt string `json:"stoppedAt"`
	}{actor, isoTime(at)}))
	return transcript.Entry{MessageID: turnStoppedPrefix + turnID, TurnID: turnID, Role: "system", Type: session.EntryTurnStopped,
		Content: content, Details: &details, StartedAt: &at, CompletedAt: &at, Status: transcript.Complete}
}

// stopBackground limits how long a stop waits for its turn's background work to end.
const stopBackground = 10 * time.Second

// StopTurn stops the running turn and returns after its end; TurnID "" means any turn. If the agent does not end the
// turn within stopPatience, StopTurn ends the agent's process. It also ends the turn's background work, unless the
// caller keeps it; the work of earlier turns continues. Messages wait during the stop, so none joins a turn that is
// being stopped.
//
// It returns ErrNoActiveTurn if no turn runs, ErrWrongTurn if another one does, or *NotStoppedError. GoesOn includes
// background work that it could not end.
func (s *Stopper) StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error) {
	awaitTurn(ctx, s.options.Index, s.options.Locks, sessionID)
	sess, adapter, active, err := s.toInterrupt(ctx, sessionID, turnID)
	if err != nil {
		return session.Stopped{}, err
	}
	release, _ := s.holdBriefly(ctx, sessionID)
	defer release()
	// A canceled caller does not cancel the stop.
	ctx = context.WithoutCancel(ctx)
	if err := s.stopTurn(ctx, adapter, sess, active); err != nil {
		return session.Stopped{TurnID: active}, err
	}
	return s.endBackgroundOfTurn(ctx, sessionID, active, keepBackground), nil
}

// endBackgroundOfTurn ends the background work of a stopped turn, unless the caller keeps it. Earlier events of that
// work then start no turn.
func (s *Stopper) endBackgroundOfTurn(ctx context.Context, sessionID, turnID string, keep bool) session.Stopped {
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
			Msg("background work of a stopped turn may still be running")
	}
	if stopped.GoesOn = left; !keep && len(left) == 0 {
		s.silence.begin(sessionID, s.options.Now()+quietFor)
	}
	return stopped
}
