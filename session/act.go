package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/runtime"
)

// Request reads an interactive request in whatever state it is. ErrRequestNotFound for an unknown id.
func (s *Service) Request(ctx context.Context, requestID string, kind runtime.RequestKind) (Request, error) {
	row, err := readRequest(ctx, s.db.Read(), requestID, kind)
	if err == nil {
		row, err = row.withParams(ctx, s.db.Read())
	}
	return row.Request, err
}

// Steer adds a text to a running turn. ErrNoActiveTurn when no turn runs, ErrWrongTurn when another one does,
// ErrNotFound, *DeletedError, *NotOwnerError, *runtime.UnsupportedError.
func (s *Service) Steer(ctx context.Context, sessionID, turnID, text string) error {
	row, err := readSession(ctx, s.db.Read(), sessionID)
	if err == nil {
		err = s.CheckOwner(row.Session)
	}
	if err != nil {
		return err
	}
	s.load(row.Runtime, sessionID)
	active := s.view.active(sessionID)
	switch {
	case active == "":
		return ErrNoActiveTurn
	case turnID != active:
		return fmt.Errorf("%w: %s runs, not %s", ErrWrongTurn, active, turnID)
	}
	adapter, err := s.adapter(row.Runtime)
	if err != nil {
		return err
	}
	steerer, err := runtime.As[runtime.Steerer](adapter, runtime.OpSteer)
	if err != nil {
		return err
	}
	part, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
	if err != nil {
		return fmt.Errorf("word the input of turn %s: %w", turnID, err)
	}
	err = steerer.SteerTurn(ctx, row.ID, turnID, []json.RawMessage{part})
	if errors.Is(err, runtime.ErrNoActiveTurn) || errors.Is(err, runtime.ErrThreadNotFound) {
		return ErrNoActiveTurn // it ended meanwhile
	}
	if err != nil {
		return err
	}
	return s.record(ctx, messageSent(row.ID, turnID, []json.RawMessage{part}, s.now()))
}
