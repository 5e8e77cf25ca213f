package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Workers is what gives owners their worker sessions. An owner is a project's id, or "session:<id>" for a session
// outside projects.
type Workers interface {
	// WorkerSessions lists the owner's workers by agent; an owner nobody works for has none.
	WorkerSessions(ctx context.Context, owner string) ([]session.AgentSession, error)
	// DismissWorkersIn drops the owner's workers from the mapping, as part of a unit of this package, and returns their
	// sessions; the next job gets a new worker.
	DismissWorkersIn(ctx context.Context, tx database.Tx, owner string) (sessionIDs []string, err error)
	// Works tells whether a session is anybody's worker.
	Works(ctx context.Context, sessionID string) (bool, error)
}

// SetWorkers tells who keeps the worker sessions. It needs this package, so it comes after New; until then nobody has
// workers.
func (s *Service) SetWorkers(workers Workers) {
	s.workersMu.Lock()
	defer s.workersMu.Unlock()
	s.workers = workers
}

func (s *Service) workerStore() Workers {
	s.workersMu.RLock()
	defer s.workersMu.RUnlock()
	return s.workers
}

// AgentSessions lists an owner's worker sessions by agent. ErrProjectNotFound for a project that is not there; a
// session's owner is not checked, as clients expect.
func (s *Service) AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error) {
	if !session.IsSession(owner) {
		if _, err := store.ReadProject(ctx, s.db.Read(), owner); err != nil {
			return nil, err
		}
	}
	workers := s.workerStore()
	if workers == nil {
		return nil, nil
	}
	sessions, err := workers.WorkerSessions(ctx, owner)
	if err != nil {
		return nil, err
	}
	// A mapping may outlive its session for a moment.
	return slices.DeleteFunc(sessions, func(one session.AgentSession) bool {
		_, err := store.IsSystemOwned(ctx, s.db.Read(), one.SessionID)
		return session.Absent(err)
	}), nil
}

// dismissIn takes an owner's workers from it, inside the unit that changes the owner: no job meets a worker that is
// going, and who is killed after the commit finds sessions that work for nobody (sweepWorkers). Their sessions are to
// be removed after the commit.
func (s *Service) dismissIn(ctx context.Context, tx database.Tx, owner string) ([]string, error) {
	workers := s.workerStore()
	if workers == nil {
		return nil, nil
	}
	return workers.DismissWorkersIn(ctx, tx, owner)
}

// removeWorkers deletes worker sessions that have no owner any more, asking runtimes nothing after a time. One the
// runtime refuses to delete, or that is another node's, stays behind, hidden as all workers' sessions are, until its
// node's next start, and does not keep its owner from changing.
func (s *Service) removeWorkers(ctx context.Context, sessionIDs []string, by time.Time) {
	for _, id := range sessionIDs {
		var foreign *session.NotOwnerError
		if _, err := s.deleteBy(ctx, id, by); err != nil && !session.Absent(err) && !errors.As(err, &foreign) {
			s.opts.Logger.Warn().Err(err).Str("session", id).
				Msg("a worker session could not be removed; the next start tries again")
		}
	}
}

// sweepWorkers removes worker sessions of this node that work for nobody: the server was killed while it made one, or
// before it removed it. Those made since the start are left alone: they are somebody's in a moment. So are those in
// which a turn runs: a sub-agent may work for a worker.
func (s *Service) sweepWorkers(ctx context.Context) error {
	workers := s.workerStore()
	if workers == nil {
		return nil
	}
	// Runtimes count in seconds.
	ids, err := database.ReadTexts(ctx, s.db.Read(), "list worker sessions", `select id from sessions
		where system_owned = 1 and node_id = $1 and created_at < $2 and not exists (select 1 from turns
			where turns.session_id = sessions.id and turns.status = 'inProgress') order by id`, s.opts.NodeID, s.begun/1000*1000)
	if err != nil {
		return err
	}
	var (
		idle []string
		errs []error
	)
	for _, id := range ids {
		works, err := workers.Works(ctx, id)
		if err != nil {
			errs = append(errs, err)
		} else if !works {
			idle = append(idle, id)
		}
	}
	if len(idle) > 0 {
		s.opts.Logger.Info().Int("sessions", len(idle)).Msg("removing worker sessions an earlier run left behind")
	}
	s.removeWorkers(ctx, idle, time.Now().Add(s.deletePatience))
	return errors.Join(errs...)
}
