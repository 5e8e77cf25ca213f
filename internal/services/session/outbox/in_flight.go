package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// InFlight is a queued or keyed message that is being sent to its session's runtime, or whose sending was interrupted.
type InFlight struct {
	sessionID, mark string
	// settle stores the result: the turn that the message started ("" for none), or that this stays unknown.
	settle func(ctx context.Context, turnID string, unknown bool) error
}

// inFlightMark is stored before a message is sent to a runtime. It later shows whether the message started a turn.
type inFlightMark struct {
	session.TurnMark
	// Epoch is the session's epoch.
	Epoch int64 `json:"epoch,omitempty"`
}

// steeredMark is the mark of a message that is being steered into a turn. No separate turn can show later whether the
// runtime accepted it.
const steeredMark = "steered"

// newMark returns the mark of a message that is about to start a turn in a session's runtime.
func newMark(ctx context.Context, tx database.Tx, session session.Session) (string, error) {
	turns, err := store.TurnMark(ctx, tx, session.ID)
	return string(javascript.MustEncode(inFlightMark{turns, session.Epoch})), err
}

// beganTurn returns the turn that a message started after its mark, "" if it certainly started none. Errors are those
// of TurnSince, including ErrTurnUnknown.
func (o *Outbox) beganTurn(ctx context.Context, sessionID, mark string) (string, error) {
	if mark == steeredMark {
		return "", session.ErrTurnUnknown
	}
	var before inFlightMark
	if err := json.Unmarshal([]byte(mark), &before); err != nil {
		return "", fmt.Errorf("read the mark of a message to session %s: %w", sessionID, err)
	}
	turnID, err := o.turns.TurnSince(ctx, sessionID, before.TurnMark)
	if turnID != "" || err != nil {
		return turnID, err
	}
	sess, err := o.sessions.Stored(ctx, sessionID)
	if err == nil && sess.Epoch != before.Epoch {
		err = fmt.Errorf("%w: another node sent it to its runtime, whose answer is not known here", session.ErrTurnUnknown)
	}
	return "", err
}

// Unsettled lists the messages of a session that are being sent, or whose sending was interrupted. The list has at
// most one message: the next one waits.
func (o *Outbox) Unsettled(ctx context.Context, sessionID string) ([]InFlight, error) {
	waiting, err := store.ReadQueued(ctx, o.opts.DB.Read(), `session_id = $1 and state = 'sending'`, database.EncodeText(sessionID))
	if err != nil {
		return nil, err
	}
	all, err := o.keysInFlight(ctx, sessionID)
	for _, one := range waiting {
		all = append(all, InFlight{sessionID, one.Marker, func(ctx context.Context, turnID string, unknown bool) error {
			return o.settleQueued(ctx, one, turnID, unknown)
		}})
	}
	return all, err
}

// settleInFlight determines whether the in-flight message of a session started a turn.
func (o *Outbox) settleInFlight(ctx context.Context, sessionID string) error {
	release, err := o.opts.Locks.Acquire(ctx, "message "+sessionID) // a new turn would be mistaken for its turn
	if err != nil {
		return err
	}
	defer release()
	unlock, err := o.opts.Locks.Acquire(ctx, sessionID) // if a message is being sent, its sender settles it
	if err != nil {
		return err
	}
	unlock()
	unsettled, err := o.Unsettled(ctx, sessionID)
	if err != nil || len(unsettled) == 0 { // a later message has already settled it
		return err
	}
	return o.Resolve(ctx, unsettled[0])
}

// Resolve is settleInFlight for a caller that holds the lock for the session's messages.
func (o *Outbox) Resolve(ctx context.Context, one InFlight) error {
	turnID, err := o.beganTurn(ctx, one.sessionID, one.mark)
	unknown := errors.Is(err, session.ErrTurnUnknown)
	if err != nil && !unknown {
		return err
	}
	return one.settle(ctx, turnID, unknown)
}
