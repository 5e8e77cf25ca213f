package manager

import (
	"context"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/controledit"
	"harness/internal/services/session/live"
	"harness/internal/services/session/outbox"
	"harness/internal/services/session/store"
)

// Send starts a turn with a message, or steers it into the running one, and returns which. If the runtime cannot
// steer, the message first waits for the running turn to end. Sends to one session run one by one, so two concurrent
// sends make one turn. The message's options become the session's controls once the runtime has accepted the message.
//
// *ToolsError refuses client tools that differ from the session's. *runtime.ControlError refuses levels that the
// runtime does not enforce. *runtime.UnsupportedError means that the runtime does not accept images. *BackgroundError
// refuses options that cannot change while background work runs. *LimitError means that too many messages are being
// sent.
func (s *Service) Send(ctx context.Context, sessionID string, message session.Message) (session.Sent, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return session.Sent{}, err // before any call to the runtime
	}
	leave, err := s.Slots.reserveSlot(ctx, sessionID)
	if err != nil {
		return session.Sent{}, err
	}
	defer leave()
	sess, adapter, release, err := s.acquireForTurn(ctx, sessionID, message.Alone || message.Retries != "")
	if err != nil {
		return session.Sent{}, err
	}
	defer release()
	message, start, err := s.prepareTurn(ctx, sess, adapter, message)
	if err != nil {
		return session.Sent{}, err
	}
	named := s.checkpoint(ctx, sess, start.Cwd)
	if err := s.beginning(ctx, sess, message); err != nil {
		named("")
		return session.Sent{}, err
	}
	s.Tracer.sends(ctx, sessionID)
	s.Stopper.silence.end(sessionID)
	// A canceled caller does not cancel the message: the runtime may already have it. The call has its own deadline.
	ctx = context.WithoutCancel(ctx)
	start.ActiveTurnID = s.index.ActiveTurn(sessionID)
	if message.Author.Actor == "" {
		message.Author = session.Author{Actor: s.journal.Actor(ctx), Name: s.journal.ActorName(ctx)}
	}
	message.Author.At = s.now()
	started, replay, err := s.startTurn(ctx, adapter, sess, start)
	named(begunTurn(started, err))
	if err == nil {
		return session.Sent{TurnID: started.TurnID, Steered: started.Steered},
			errStoredLater(s.turnAccepted(ctx, sess, started, message, replay))
	}
	if kept := s.Outbox.ForgetKey(ctx, message.Key, err); kept != nil {
		return session.Sent{}, errors.Join(err, kept)
	}
	if message.Retries != "" && errors.Is(err, runtime.ErrTurnActive) {
		err = &session.NotRetryableError{SessionID: sessionID, TurnID: message.Retries, Reason: "a turn runs in its session"}
	}
	return session.Sent{}, err
}

// checkpoint stores the state of a session's folder before a turn. A message that is steered into a running turn makes
// no checkpoint.
func (s *Service) checkpoint(ctx context.Context, sess session.Session, folder string) (named func(turnID string)) {
	if s.opts.Trees == nil || folder == "" || sess.SystemOwned || s.index.ActiveTurn(sess.ID) != "" {
		return func(string) {}
	}
	return s.opts.Trees.Begin(ctx, sess.ID, folder)
}

// begunTurn returns the id of a turn that began with a message, "" for none.
func begunTurn(started runtime.StartedTurn, err error) string {
	if err != nil || started.Steered {
		return ""
	}
	return started.TurnID
}

// prepareTurn checks a message and builds the runtime's call for it. A message that retries a turn gets that turn's
// input. The session is locked.
func (s *Service) prepareTurn(ctx context.Context, sess session.Session, adapter runtime.Adapter, message session.Message) (
	session.Message, runtime.StartTurn, error) {
	if err := s.Ownership.CheckDrained(sess.SystemOwned); err != nil {
		return message, runtime.StartTurn{}, err
	}
	cwd, err := s.Checker.Workspace(sess)
	if err != nil {
		return message, runtime.StartTurn{}, err
	}
	if message.Retries != "" {
		if message, err = s.again(ctx, sess.ID, message.Retries, message.Key); err != nil {
			return message, runtime.StartTurn{}, err
		}
	}
	if err := (outboxSessions{Service: s}).CheckMessage(ctx, sess, adapter, message); err != nil {
		return message, runtime.StartTurn{}, err
	}
	if err := s.Rollbacks.SettleRollback(ctx, sess, false); err != nil {
		return message, runtime.StartTurn{}, err
	}
	if err := s.Rewinds.Settle(ctx, sess); err != nil {
		return message, runtime.StartTurn{}, err
	}
	controls := sess.Controls.With(message.Model, message.ApprovalPolicy, message.NetworkAccess,
		message.FilesystemSandbox)
	s.LoadView(sess.Runtime, sess.ID)
	start := runtime.StartTurn{
		ThreadID: sess.ID, NativeID: sess.RuntimeSessionID, Input: message.InputParts(), Alone: message.Alone, Cwd: cwd,
		Model: controls.ModelName(), Effort: message.Effort, ApprovalPolicy: controls.ApprovalPolicy,
		Sandbox:       controls.FilesystemSandbox,
		NetworkAccess: controls.NetworkAccess, CollaborateMode: message.CollaborationMode,
	}
	if err := s.Editor.CheckRestart(ctx, s.db.Read(), adapter, start, controledit.WishOf(sess.Controls, controls)); err != nil {
		return message, start, err
	}
	start.Aside, err = s.Reader.DenialReasons(ctx, adapter, sess.ID)
	return message, start, err
}

// beginning records that a message is about to be sent to the runtime.
func (s *Service) beginning(ctx context.Context, session session.Session, message session.Message) error {
	if message.Begin == nil && message.Key == "" {
		return nil
	}
	if message.Alone && s.index.ActiveTurn(session.ID) != "" {
		return runtime.ErrTurnActive // no turn was started
	}
	return s.InOrder(ctx, func() journal.Unit {
		steers := s.index.ActiveTurn(session.ID) != ""
		return func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
			if message.Begin != nil {
				events, err = message.Begin(ctx, tx)
			}
			if err == nil && message.Key != "" {
				err = s.Outbox.NoteKey(ctx, tx, session, message.Key, steers)
			}
			return events, err
		}
	})
}

// acquireForTurn locks a session for a message. It locks immediately if the message can be steered into a running
// turn that is not being stopped. Otherwise it waits until no turn runs and the runtime has a free slot. Messages keep
// their order. While a turn runs, it refuses a message with Alone: runtime.ErrTurnActive.
func (s *Service) acquireForTurn(ctx context.Context, sessionID string, alone bool) (sess session.Session,
	adapter runtime.Adapter, release func(), err error) {
	next, err := s.locks.Acquire(ctx, "message "+sessionID)
	if err != nil {
		return session.Session{}, nil, nil, err
	}
	defer next()
	giveBack := func() {} // releases the slot of its runtime
	defer func() {
		if err != nil {
			giveBack()
		}
	}()
	for placed := false; ; {
		if release, err = s.locks.Acquire(ctx, sessionID); err != nil {
			return session.Session{}, nil, nil, err
		}
		var unsettled []outbox.InFlight
		if sess, adapter, err = s.owned(ctx, sessionID); err == nil {
			unsettled, err = s.Outbox.Unsettled(ctx, sessionID)
		}
		if len(unsettled) > 0 { // settle an open message before another one may start a turn
			release()
			if err = s.Outbox.Resolve(ctx, unsettled[0]); err == nil {
				continue
			}
			return session.Session{}, nil, nil, runtime.WithKind(runtime.ErrUnavailable, err)
		}
		var idle <-chan struct{}
		if err == nil {
			idle, err = s.turnToAwait(sess, adapter, alone)
		}
		waits := err == nil && idle == nil && !placed && s.Slots.needsSlot(sess)
		if err == nil && idle == nil && !waits {
			free := release
			return sess, adapter, func() { free(); giveBack() }, nil
		}
		release()
		if err != nil {
			return session.Session{}, nil, nil, err
		}
		if waits {
			if giveBack, err = s.index.Limits.AwaitSlot(ctx, sess.Runtime); err != nil {
				giveBack = func() {}
				return session.Session{}, nil, nil, err
			}
			placed = true
			continue
		}
		select {
		case <-idle:
		case <-s.Stopper.patience(sessionID):
		case <-ctx.Done():
			return session.Session{}, nil, nil, ctx.Err()
		}
	}
}

// turnToAwait returns a channel that is closed when the turn that blocks a message ends; nil if no turn blocks it.
func (s *Service) turnToAwait(session session.Session, adapter runtime.Adapter, alone bool) (idle <-chan struct{}, err error) {
	_, steers := runtime.Has[runtime.Steerer](adapter, runtime.OpSteer)
	s.LoadView(session.Runtime, session.ID)
	switch {
	case s.index.ActiveTurn(session.ID) == "", steers && !s.index.IsStopping(session.ID):
		return nil, nil
	case alone:
		return nil, runtime.ErrTurnActive
	}
	return s.index.WhenIdle(session.ID), nil
}

// turnAccepted stores the turn of a reply before the caller gets the reply: an acknowledged turn is never lost. The
// end of the turn, or of its process, may have arrived before the reply.
func (s *Service) turnAccepted(ctx context.Context, sess session.Session, started runtime.StartedTurn, message session.Message,
	replay *session.Restored) error {
	turnID := started.TurnID
	return s.InOrder(ctx, func() journal.Unit {
		at := s.now()
		if replay != nil && started.NativeID != "" {
			s.index.SetNative(sess.ID, started.NativeID)
		}
		generation, down := s.index.Generation(sess.Runtime, sess.ID)
		if !down {
			s.index.Update(sess.ID, func(t *live.Session) { t.AcceptTurn(turnID) })
		}
		turn := store.Turn{SessionID: sess.ID, TurnID: turnID, Generation: generation, NodeID: s.opts.NodeID, StartedAt: at,
			Input: message.StoredInput()}
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			turn.Trace = s.Tracer.storedTraceOf(sess.ID, turnID)
			sent, err := s.storeSent(ctx, tx, sess, turn, started, message)
			if err != nil {
				return sent, err
			}
			if replay != nil {
				restored, err := s.restored(ctx, tx, sess.ID, started, replay, at)
				if sent = append(restored, sent...); err != nil {
					return sent, err
				}
			}
			if !down {
				return sent, nil
			}
			swept, err := s.sweepTurn(ctx, tx, turn, exitReason(sess.Runtime, nil), at)
			return append(sent, swept...), err
		}
	})
}

// storeSent stores an accepted message with its turn, unless the session was deleted or belongs to another node.
func (s *Service) storeSent(ctx context.Context, tx database.Tx, sess session.Session, turn store.Turn,
	started runtime.StartedTurn, message session.Message) ([]journal.Event, error) {
	if _, err := store.IsSystemOwned(ctx, tx, sess.ID); err != nil {
		return nil, journal.Refuse(err)
	}
	if mine, err := s.Ownership.Mine(ctx, tx, sess.ID, sess.Epoch); err != nil {
		return nil, err
	} else if !mine {
		return nil, journal.Refuse(&session.TakenError{SessionID: sess.ID, Node: s.opts.NodeID})
	}
	news, err := s.sentWith(ctx, tx, sess.ID, started, message, turn.StartedAt)
	if err != nil {
		return nil, err
	}
	sent := []journal.Event{news}
	authored, err := s.recordAuthor(ctx, tx, sess.ID, turn.TurnID, message)
	if err != nil {
		return nil, err
	}
	sent = append(sent, authored...)
	named, err := s.nameAfter(ctx, tx, sess, turn.TurnID, message, turn.StartedAt)
	if err != nil {
		return nil, err
	}
	sent = append(sent, named...)
	if message.Accepted != nil {
		more, err := message.Accepted(ctx, tx, turn.TurnID)
		if err != nil {
			return nil, err
		}
		sent = append(sent, more...)
	}
	if message.Key != "" {
		if err := outbox.StoreKeyResult(ctx, tx, message.Key, turn.TurnID); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(store.OpenTurn(ctx, tx, turn), store.TouchSession(ctx, tx, sess.ID, turn.StartedAt)); err != nil {
		return sent, err
	}
	if !started.Steered {
		return sent, nil
	}
	dropped, err := recordDroppedLate(ctx, tx, sess.ID, turn.TurnID, message)
	return append(sent, dropped...), err
}

// sentWith stores the options of a message, and returns the event of the sent message.
func (s *Service) sentWith(ctx context.Context, tx database.Tx, sessionID string, started runtime.StartedTurn,
	message session.Message, at int64) (journal.Event, error) {
	if err := s.storeControlOverrides(ctx, tx, sessionID, message); err != nil {
		return journal.Event{}, err
	}
	var with *session.Controls
	if !started.Steered {
		_, controls, _, err := s.Reader.ControlsIn(ctx, tx, sessionID)
		if err != nil {
			return journal.Event{}, err
		}
		with = &controls
	}
	return messageSent(sessionID, started.TurnID, message.InputParts(), with, at), nil
}

// storeControlOverrides makes the options of a message the session's controls. It merges them into the stored ones,
// which may have changed since the message was sent.
func (s *Service) storeControlOverrides(ctx context.Context, tx database.Tx, sessionID string, m session.Message) error {
	if m.Model == nil && m.ApprovalPolicy == nil && m.NetworkAccess == nil && m.FilesystemSandbox == nil {
		return nil
	}
	_, controls, _, err := s.Reader.ControlsIn(ctx, tx, sessionID)
	if err != nil {
		return err
	}
	return store.StoreControls(ctx, tx, sessionID,
		controls.With(m.Model, m.ApprovalPolicy, m.NetworkAccess, m.FilesystemSandbox))
}

// sweepTurn interrupts a turn whose process had ended before the turn was stored, unless its end is stored.
func (s *Service) sweepTurn(ctx context.Context, tx database.Tx, turn store.Turn, reason string, at int64) (
	[]journal.Event, error) {
	stored, known, err := store.ReadTurn(ctx, tx, turn.SessionID, turn.TurnID)
	if err != nil || !known || stored.Status != runtime.TurnInProgress {
		return nil, err
	}
	return s.interrupt(ctx, tx, stored, reason, at)
}
