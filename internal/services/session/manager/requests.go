package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Request reads an interactive request in whatever state it is. ErrRequestNotFound for an unknown id.
func (s *Service) Request(ctx context.Context, requestID string, kind runtime.RequestKind) (session.Request, error) {
	row, err := store.ReadRequest(ctx, s.db.Read(), requestID, kind)
	if err == nil {
		row, err = row.WithParams(ctx, s.db.Read())
	}
	return row.Request, err
}

// Steer adds a text to a running turn. ErrNoActiveTurn when no turn runs, ErrWrongTurn when another one does,
// ErrNotFound, *DeletedError, *NotOwnerError, *FolderError, *runtime.UnsupportedError.
func (s *Service) Steer(ctx context.Context, sessionID, turnID, text string) error {
	row, err := store.ReadSession(ctx, s.db.Read(), sessionID)
	if err == nil {
		err = s.CheckOwner(row.Session)
	}
	if err != nil {
		return err
	}
	s.load(row.Runtime, sessionID)
	active := s.index.ActiveTurn(sessionID)
	switch {
	case active == "", s.index.IsStopping(sessionID):
		return session.ErrNoActiveTurn
	case turnID != active:
		return fmt.Errorf("%w: %s runs, not %s", session.ErrWrongTurn, active, turnID)
	}
	if _, err := s.workspace(row.Session); err != nil {
		return err
	}
	adapter, err := s.Adapter(row.Runtime)
	if err != nil {
		return err
	}
	steerer, err := runtime.As[runtime.Steerer](adapter, runtime.OpSteer)
	if err != nil {
		return err
	}
	message := session.Message{Text: text}
	err = steerer.SteerTurn(ctx, row.ID, turnID, message.InputParts())
	if errors.Is(err, runtime.ErrNoActiveTurn) || errors.Is(err, runtime.ErrThreadNotFound) {
		return session.ErrNoActiveTurn // it ended meanwhile
	}
	if err != nil {
		return err
	}
	return s.record(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		at := s.now()
		events := []journal.Event{messageSent(row.ID, turnID, message.InputParts(), nil, at)}
		if err := store.AddInput(ctx, tx, row.ID, turnID, message); err != nil {
			return nil, err
		}
		dropped, err := s.recordDroppedLate(ctx, tx, row.ID, turnID, message)
		return append(events, dropped...), err
	})
}

// denialReasons are why people denied what the last turn of a session asked, in words for its agent; "" for none. It is
// for runtimes that take no reason with a denial (Capabilities.DenyReason): their agents are told with the next message.
// A message that begins a turn makes that the last one, so each reason is told once.
func (s *Service) denialReasons(ctx context.Context, adapter runtime.Adapter, sessionID string) (string, error) {
	if runtime.CapabilitiesOf(adapter).DenyReason {
		return "", nil
	}
	var turnID string
	err := s.db.Read().QueryRowContext(ctx, `select turn_id from turns where session_id = $1
		order by started_at desc, turn_id desc limit 1`, database.EncodeText(sessionID)).Scan(&turnID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the last turn of session %s: %w", sessionID, err)
	}
	settled, err := store.QueryRequests(ctx, s.db.Read(), `where session_id = $1 and turn_id = $2 and status = 'resolved'
		order by settled_at, id`, database.EncodeText(sessionID), turnID)
	if err != nil {
		return "", err
	}
	var reasons strings.Builder
	for _, r := range settled {
		if r.ReasonGiven() {
			fmt.Fprintf(&reasons, "\n- %s\n  Reason: %s", r.Summary, r.Reply.Message)
		}
	}
	if reasons.Len() == 0 {
		return "", nil
	}
	return "In the last turn the user denied the following, and said why:" + reasons.String(), nil
}
