package api

import (
	"context"
	"errors"

	"harness/session"
)

// guards are the checks on the session a path names, in this order. Which of them a route has is part of its contract:
// workers write transcripts of their own system-owned sessions, and lists of unknown sessions are empty.
type guards uint8

const (
	refuseDeleted guards = 1 << iota // 410
	refuseSystem                     // 403
	requireKnown                     // 404
	requireOwner                     // 421, for what needs the session's runtime

	anySession   = refuseDeleted | requireKnown
	userSession  = refuseDeleted | refuseSystem | requireKnown
	ownedSession = userSession | requireOwner
)

// systemSessionError refuses a session that belongs to the orchestrator's workers.
type systemSessionError struct{ sessionID string }

func (e *systemSessionError) Error() string { return "session " + e.sessionID + " is system-owned" }

// checkGuards looks the session up once and leaves it in in.
func (s *server) checkGuards(ctx context.Context, g guards, in *input) error {
	if g == 0 {
		return nil
	}
	found, err := s.Sessions.Lookup(ctx, in.sessionID())
	var deleted *session.DeletedError
	switch {
	case errors.As(err, &deleted):
		if g&refuseDeleted != 0 {
			return err
		}
	case errors.Is(err, session.ErrNotFound):
		if g&requireKnown != 0 {
			return err
		}
	case err != nil:
		return err
	case found.SystemOwned && g&refuseSystem != 0:
		return &systemSessionError{sessionID: in.sessionID()}
	default:
		in.session, in.found = found, true
	}
	if in.found && g&requireOwner != 0 {
		return s.Sessions.CheckOwner(found)
	}
	return nil
}
