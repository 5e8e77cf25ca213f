package operations

import (
	"context"

	"harness/internal/services/session"
)

// Promise is a session that is being opened, by the temporary id a client has for it.
type Promise struct {
	ID   string
	keep func(ctx context.Context, word func(error) string) error
}

// Keep opens the session, and tells how that went by an event. It goes on when ctx ends; word puts an error for
// clients.
func (p Promise) Keep(ctx context.Context, word func(error) string) error { return p.keep(ctx, word) }

// CreateLater is Create in a project for a client that is told the session's id afterwards. Call Keep of what it
// returns.
func (s *Service) CreateLater(ctx context.Context, in session.Create, projectID string) (Promise, error) {
	in.ProjectID = projectID
	in, err := s.prepare(ctx, in)
	if err != nil {
		return Promise{}, err
	}
	t, err := s.opts.Sessions.PromiseSession(ctx, in.Runtime, projectID)
	return Promise{ID: t.ID, keep: func(ctx context.Context, word func(error) string) error {
		return s.opts.Sessions.KeepPromise(ctx, t, in, word)
	}}, err
}

// RealID is the session's own id for a temporary one; others are returned as they are. session.ErrNotFound.
func (s *Service) RealID(ctx context.Context, id string) (string, error) {
	return s.opts.Sessions.RealID(ctx, id)
}

// Stop ends what a session is doing, if anything, with the background work that its turn began unless that is to be kept;
// it gives back what its runtime keeps of the session, and tells everybody who follows it. The next message loads it
// again. It says which background work it ended and which goes on.
func (s *Service) Stop(ctx context.Context, sessionID string, keepBackground bool) (session.Stopped, error) {
	if err := s.Check(ctx, Interrupt, sessionID); err != nil {
		return session.Stopped{}, err
	}
	return s.opts.Sessions.StopSession(ctx, sessionID, keepBackground)
}

// TranscriptPage reads at most limit entries of a session's transcript behind the first offset ones, from its beginning
// or, newest first, from its end, and tells how many there are.
func (s *Service) TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
	session.TranscriptPage, error) {
	if err := s.Check(ctx, Read, sessionID); err != nil {
		return session.TranscriptPage{}, err
	}
	var p problems
	if p.count("limit", limit, MaxWindow); p != nil {
		return session.TranscriptPage{}, p.err()
	}
	return s.opts.Sessions.TranscriptPage(ctx, sessionID, offset, limit, newestFirst)
}

// MessageCounts is how many entries the transcripts of sessions have, by session.
func (s *Service) MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error) {
	return s.opts.Sessions.MessageCounts(ctx, sessionIDs)
}

// Pending lists the pending requests of a session, of all but workers for "", oldest first.
func (s *Service) Pending(ctx context.Context, sessionID string) ([]session.Request, error) {
	if sessionID == "" {
		all, err := s.opts.Sessions.AllPending(ctx)
		if err != nil {
			return nil, err
		}
		return s.within(ctx, all)
	}
	if err := s.Check(ctx, ListRequests, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.Pending(ctx, sessionID)
}
