package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/database"
	"harness/journal"
	"harness/runtime"
)

// Send starts a turn with a message, or steers it into the running one, and returns the turn's id. Sends to one session go one after the
// other, so two at once make one turn. Options given become the session's controls once the runtime took the message. *ToolsError for client
// tools that are not the session's.
func (s *Service) Send(ctx context.Context, sessionID string, message Message) (string, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return "", err // before the runtime is told anything
	}
	release, err := s.locks.acquire(ctx, sessionID)
	if err != nil {
		return "", err
	}
	defer release()
	session, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return "", err
	}
	if err := s.checkTools(ctx, sessionID, message.DynamicTools); err != nil {
		return "", err
	}
	if err := s.settleRollback(ctx, session, false); err != nil {
		return "", err
	}
	controls := session.Controls.with(message.Model, message.ApprovalPolicy, message.NetworkAccess, message.FilesystemSandbox)
	cwd := message.Cwd
	if cwd == "" {
		cwd = session.Cwd
	}
	s.load(session.Runtime, sessionID)
	// A caller who goes away does not take the message back: the runtime may have it already. The call has its own deadline.
	ctx = context.WithoutCancel(ctx)
	started, err := adapter.StartTurn(ctx, runtime.StartTurn{
		ThreadID: session.RuntimeSessionID, Input: message.input(), ActiveTurnID: s.view.active(sessionID),
		Alone: message.Alone, Cwd: cwd,
		Model: controls.model(), Effort: message.Effort, ApprovalPolicy: controls.ApprovalPolicy, Sandbox: controls.FilesystemSandbox,
		NetworkAccess: controls.NetworkAccess, CollaborateMode: message.CollaborationMode,
	})
	if err != nil {
		return "", err
	}
	return started.TurnID, held(s.turnAccepted(ctx, session, started.TurnID, message))
}

func (m Message) input() []json.RawMessage {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		URL  string `json:"url,omitempty"`
	}
	var parts []json.RawMessage
	if m.Text != "" {
		parts = append(parts, encode(part{Type: "text", Text: m.Text}))
	}
	for _, url := range m.Images {
		parts = append(parts, encode(part{Type: "image", URL: url}))
	}
	return append(parts, m.Input...)
}

// turnAccepted stores the turn a reply named before the caller is told of it: an acknowledged turn is never forgotten. Its end may have
// overtaken the reply, and so may the end of its process.
func (s *Service) turnAccepted(ctx context.Context, session Session, turnID string, message Message) error {
	return s.inOrder(ctx, func() journal.Unit {
		at := s.now()
		generation, down := s.view.liveGeneration(session.Runtime)
		if !down {
			s.view.change(session.ID, func(t *thread) { t.accepted(turnID) })
		}
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if _, err := presence(ctx, tx, session.ID); err != nil {
				return nil, journal.Refuse(err)
			}
			if err := s.storeWishes(ctx, tx, session.ID, message); err != nil {
				return nil, err
			}
			turn := turnRow{sessionID: session.ID, turnID: turnID, generation: generation, nodeID: s.opts.NodeID, startedAt: at}
			if err := errors.Join(openTurn(ctx, tx, turn), touch(ctx, tx, session.ID, at)); err != nil || !down {
				return nil, err
			}
			return s.sweepTurn(ctx, tx, turn, exitReason(session.Runtime, nil), at)
		}
	})
}

// storeWishes makes the options a message came with the session's controls. They are laid over what is stored now: controls may have been
// edited while the runtime took the message.
func (s *Service) storeWishes(ctx context.Context, tx database.Tx, sessionID string, m Message) error {
	if m.Model == nil && m.ApprovalPolicy == nil && m.NetworkAccess == nil && m.FilesystemSandbox == nil {
		return nil
	}
	controls, _, err := s.controlsIn(ctx, tx, sessionID)
	if err != nil {
		return err
	}
	return storeControls(ctx, tx, sessionID, controls.with(m.Model, m.ApprovalPolicy, m.NetworkAccess, m.FilesystemSandbox))
}

// sweepTurn interrupts a turn whose process had ended before the turn was stored, unless it is known to be over.
func (s *Service) sweepTurn(ctx context.Context, tx database.Tx, turn turnRow, reason string, at int64) ([]journal.Event, error) {
	turns, err := readTurns(ctx, tx, turn.sessionID)
	if err != nil {
		return nil, err
	}
	for _, stored := range turns {
		if stored.turnID == turn.turnID && stored.status == runtime.TurnInProgress {
			return s.interrupt(ctx, tx, stored, reason, at)
		}
	}
	return nil, nil
}

// Interrupt ends the running turn; turnID "" means whichever runs. ErrNoActiveTurn when none does, ErrWrongTurn when another one does.
func (s *Service) Interrupt(ctx context.Context, sessionID, turnID string) (string, error) {
	row, err := readSession(ctx, s.db.Read(), sessionID)
	if errors.Is(err, ErrNotFound) {
		return "", ErrNoActiveTurn
	}
	if err == nil {
		err = s.CheckOwner(row.Session)
	}
	if err != nil {
		return "", err
	}
	s.load(row.Runtime, sessionID)
	active := s.view.active(sessionID)
	switch {
	case active == "":
		return "", ErrNoActiveTurn
	case turnID != "" && turnID != active:
		return "", fmt.Errorf("%w: %s runs, not %s", ErrWrongTurn, active, turnID)
	}
	adapter, err := s.adapter(row.Runtime)
	if err != nil {
		return "", err
	}
	err = adapter.InterruptTurn(ctx, row.RuntimeSessionID, active)
	if errors.Is(err, runtime.ErrNoActiveTurn) || errors.Is(err, runtime.ErrThreadNotFound) {
		return "", ErrNoActiveTurn // it ended by itself
	}
	return active, err
}
