package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// Submitted is what became of a message: the turn it began or was steered into, or its place in the queue.
type Submitted struct {
	TurnID string
	// QueuedID is the queued message and Position its place from 1; "" and 0 of a message that was sent.
	QueuedID string
	Position int
}

// Submit is Send that never waits for a running turn: where the runtime cannot steer, the message is queued behind the
// turn and those that wait already, and is sent after them, also by a later server. Errors are those of Send,
// ErrWaitingFull and *FolderError.
func (s *Service) Submit(ctx context.Context, sessionID string, message Message) (Submitted, error) {
	session, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return Submitted{}, err
	}
	if _, steers := runtime.Has[runtime.Steerer](adapter, runtime.OpSteer); steers {
		turnID, err := s.Send(ctx, sessionID, message)
		return Submitted{TurnID: turnID}, err
	}
	s.load(session.Runtime, sessionID)
	waiting, err := s.Waiting(ctx, sessionID)
	if err != nil {
		return Submitted{}, err
	}
	behind := len(waiting) > 0 && waiting[0].State != WaitingHeld // one that is held waits for a person
	if !behind && s.view.active(sessionID) == "" {
		alone := message
		alone.Alone = true
		turnID, err := s.Send(ctx, sessionID, alone)
		if !errors.Is(err, runtime.ErrTurnActive) {
			return Submitted{TurnID: turnID}, err
		}
	}
	if err := s.checkMessage(ctx, session, adapter, message); err != nil {
		return Submitted{}, err
	}
	if message.Names != nil {
		message.Images = message.Names
	}
	id, now, err := s.Wait(ctx, sessionID, message)
	if err != nil {
		return Submitted{}, err
	}
	return Submitted{QueuedID: id, Position: PositionOf(now, id)}, nil
}

// PositionOf is the place of a message in a queue, from 1; 0 of one that is not there.
func PositionOf(queue []Waiting, id string) int {
	return slices.IndexFunc(queue, func(one Waiting) bool { return one.ID == id }) + 1
}

// checkMessage refuses now what the runtime would refuse when the message is sent.
func (s *Service) checkMessage(ctx context.Context, session Session, adapter runtime.Adapter, message Message) error {
	if len(message.Images) > 0 && !runtime.CapabilitiesOf(adapter).Images {
		return &runtime.UnsupportedError{Runtime: session.Runtime, Operation: runtime.OpImages}
	}
	if err := s.checkTools(ctx, session.ID, message.DynamicTools); err != nil {
		return err
	}
	return s.checkChangedControls(session.Runtime, session.Controls, session.Controls.with(message.Model, message.ApprovalPolicy,
		message.NetworkAccess, message.FilesystemSandbox))
}

// sentWaiting takes a message that was sent out of the queue, and publishes the turn it became.
func (s *Service) sentWaiting(ctx context.Context, tx database.Tx, one Waiting, turnID string) ([]journal.Event, error) {
	systemOwned, err := presence(ctx, tx, one.SessionID)
	if absent(err) {
		return nil, nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `delete from queued_messages where id = $1`, one.ID)
	}
	if err == nil { // who sends it again with its key gets the turn
		_, err = tx.ExecContext(ctx, `update message_keys set made = $2 where session_id = $3 and made = $1`,
			database.EncodeText(one.ID), database.EncodeText(turnID), database.EncodeText(one.SessionID))
	}
	if err != nil {
		return nil, fmt.Errorf("store that waiting message %s was sent: %w", one.ID, err)
	}
	now, err := readWaiting(ctx, tx, `session_id = $1`, database.EncodeText(one.SessionID))
	return []journal.Event{waitingUpdated(one.SessionID, now, systemOwned, s.now(), &sentMessage{one.ID, turnID})}, err
}

// sentMessage is a queued message and the turn it became.
type sentMessage struct {
	ID     string `json:"id"`
	TurnID string `json:"turnId"`
}
