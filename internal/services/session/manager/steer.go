package manager

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Steer adds text to a running turn. It returns ErrNoActiveTurn if no turn runs and ErrWrongTurn if another one does.
// Other errors are ErrNotFound, *DeletedError, *NotOwnerError, *FolderError and *runtime.UnsupportedError.
func (s *Service) Steer(ctx context.Context, sessionID, turnID, text string) error {
	row, err := store.ReadSession(ctx, s.db.Read(), sessionID)
	if err == nil {
		err = s.Ownership.CheckOwner(row.Session)
	}
	if err != nil {
		return err
	}
	s.LoadView(row.Runtime, sessionID)
	active := s.index.ActiveTurn(sessionID)
	switch {
	case active == "", s.index.IsStopping(sessionID):
		return session.ErrNoActiveTurn
	case turnID != active:
		return fmt.Errorf("%w: %s runs, not %s", session.ErrWrongTurn, active, turnID)
	}
	if _, err := s.Checker.Workspace(row.Session); err != nil {
		return err
	}
	adapter, err := s.Registry.Adapter(row.Runtime)
	if err != nil {
		return err
	}
	steerer, err := runtime.As[runtime.Steerer](adapter, runtime.OpSteer)
	if err != nil {
		return err
	}
	message := session.Message{Text: text, Author: s.Organizer.caller(ctx)}
	message.Author.At = s.now()
	err = steerer.SteerTurn(ctx, row.ID, turnID, message.InputParts())
	if errors.Is(err, runtime.ErrNoActiveTurn) || errors.Is(err, runtime.ErrThreadNotFound) {
		return session.ErrNoActiveTurn // it has ended since
	}
	if err != nil {
		return err
	}
	return s.record(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		at := s.now()
		events := []journal.Event{messageSent(row.ID, turnID, message.InputParts(), nil, at)}
		authored, err := s.recordAuthor(ctx, tx, row.ID, turnID, message)
		if err != nil {
			return nil, err
		}
		events = append(events, authored...)
		if err := store.AddInput(ctx, tx, row.ID, turnID, message); err != nil {
			return nil, err
		}
		dropped, err := recordDroppedLate(ctx, tx, row.ID, turnID, message)
		return append(events, dropped...), err
	})
}
