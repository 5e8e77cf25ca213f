package projects

import (
	"context"
	"errors"
	"slices"
	"time"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// WorkerStore is what gives owners their worker sessions. An owner is a project's id, or "session:<id>" for a session
// outside projects.
type WorkerStore interface {
	// WorkerSessions lists the owner's workers by agent; an owner no one works for has none.
	WorkerSessions(ctx context.Context, owner string) ([]session.AgentSession, error)
	// DismissWorkersIn drops the owner's workers from the mapping, as part of a unit of this package, and returns their
	// sessions; the next job gets a new worker.
	DismissWorkersIn(ctx context.Context, tx database.Tx, owner string) (sessionIDs []string, err error)
	// Works reports whether a session is anybody's worker.
	Works(ctx context.Context, sessionID string) (bool, error)
}

// SetWorkers reports who keeps the worker sessions. It needs this package, so it comes after New; until then no one has
// workers.
func (a *Agents) SetWorkers(workers WorkerStore) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store = workers
}

func (a *Agents) workerStore() WorkerStore {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.store
}

// AgentSessions lists an owner's worker sessions by agent. ErrProjectNotFound for a project that is not there; a
// session's owner is not checked, as clients expect.
func (a *Agents) AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error) {
	if !session.IsSession(owner) {
		if _, err := store.ReadProject(ctx, a.options.DB.Read(), owner); err != nil {
			return nil, err
		}
	}
	workers := a.workerStore()
	if workers == nil {
		return nil, nil
	}
	sessions, err := workers.WorkerSessions(ctx, owner)
	if err != nil {
		return nil, err
	}
	// A mapping may outlive its session for a moment.
	return slices.DeleteFunc(sessions, func(one session.AgentSession) bool {
		_, err := store.IsSystemOwned(ctx, a.options.DB.Read(), one.SessionID)
		return session.Absent(err)
	}), nil
}

// DismissIn takes an owner's workers from it, inside the unit that changes the owner: no job meets a worker that is
// going, and who is killed after the commit finds sessions that work for no one (SweepWorkers). Their sessions are to
// be removed after the commit.
func (a *Agents) DismissIn(ctx context.Context, tx database.Tx, owner string) ([]string, error) {
	workers := a.workerStore()
	if workers == nil {
		return nil, nil
	}
	return workers.DismissWorkersIn(ctx, tx, owner)
}

// RemoveWorkers deletes worker sessions that have no owner anymore, asking runtimes nothing after a time. One the
// runtime refuses to delete, or that is another node's, stays behind, hidden as all workers' sessions are, until its
// node's next start, and does not keep its owner from changing.
func (a *Agents) RemoveWorkers(ctx context.Context, sessionIDs []string, by time.Time) {
	for _, id := range sessionIDs {
		var foreign *session.NotOwnerError
		if _, err := a.options.Sessions.DeleteBy(ctx, id, by); err != nil && !session.Absent(err) && !errors.As(err, &foreign) {
			a.options.Logger.Warn().Err(err).Str("session", id).
				Msg("a worker session could not be removed; the next start tries again")
		}
	}
}

// SweepWorkers removes worker sessions of this node that work for no one: the server was killed while it made one, or
// before it removed it. Those made since the start are left alone: they are a client's in a moment. So are those in
// which a turn runs: a sub-agent may work for a worker.
func (a *Agents) SweepWorkers(ctx context.Context, begun int64) error {
	workers := a.workerStore()
	if workers == nil {
		return nil
	}
	// Runtimes count in seconds.
	ids, err := database.ReadTexts(ctx, a.options.DB.Read(), "list worker sessions", `select id from sessions
		where system_owned = 1 and node_id = $1 and created_at < $2 and not exists (select 1 from turns
			where turns.session_id = sessions.id and turns.status = 'inProgress') order by id`, a.options.NodeID, begun/1000*1000)
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
		a.options.Logger.Info().Int("sessions", len(idle)).Msg("removing worker sessions an earlier run left behind")
	}
	a.RemoveWorkers(ctx, idle, time.Now().Add(session.DeletePatience))
	return errors.Join(errs...)
}
