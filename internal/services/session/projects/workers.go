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

// WorkerStore assigns worker sessions to owners. An owner is a project's id, or "session:<id>" for a session outside
// projects.
type WorkerStore interface {
	// WorkerSessions lists the owner's workers by agent; the list is empty for an owner without workers.
	WorkerSessions(ctx context.Context, owner string) ([]session.AgentSession, error)
	// DismissWorkersIn removes the owner's workers from the mapping, as part of a unit of this package, and returns
	// their sessions. The next job gets a new worker.
	DismissWorkersIn(ctx context.Context, tx database.Tx, owner string) (sessionIDs []string, err error)
	// Works reports whether a session is a worker of any owner.
	Works(ctx context.Context, sessionID string) (bool, error)
}

// SetWorkers sets the store of worker sessions. The store needs this package, so it is set after New; until then no
// owner has workers.
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

// AgentSessions lists an owner's worker sessions by agent. It returns ErrProjectNotFound for a missing project. It
// does not check a session that owns workers, as clients expect.
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
	// A mapping may briefly outlive its session.
	return slices.DeleteFunc(sessions, func(one session.AgentSession) bool {
		_, err := store.IsSystemOwned(ctx, a.options.DB.Read(), one.SessionID)
		return session.Absent(err)
	}), nil
}

// DismissIn removes an owner's workers in the unit that changes the owner. No job then gets a worker that is being
// removed. The caller removes the sessions after the commit. After a crash, SweepWorkers finds the ownerless sessions.
func (a *Agents) DismissIn(ctx context.Context, tx database.Tx, owner string) ([]string, error) {
	workers := a.workerStore()
	if workers == nil {
		return nil, nil
	}
	return workers.DismissWorkersIn(ctx, tx, owner)
}

// RemoveWorkers deletes worker sessions without an owner; after the time by it calls no runtime. A session stays,
// hidden like all worker sessions, if its runtime refuses or another node owns it. That node retries at its next
// start. The owner changes in any case.
func (a *Agents) RemoveWorkers(ctx context.Context, sessionIDs []string, by time.Time) {
	for _, id := range sessionIDs {
		var foreign *session.NotOwnerError
		if _, err := a.options.Sessions.DeleteBy(ctx, id, by); err != nil && !session.Absent(err) && !errors.As(err, &foreign) {
			a.options.Logger.Warn().Err(err).Str("session", id).
				Msg("a worker session could not be removed; the next start tries again")
		}
	}
}

// SweepWorkers removes ownerless worker sessions of this node, left by a crash during their creation or removal. It
// skips sessions created since the start, which get an owner shortly. It skips sessions with a running turn: a
// sub-agent may work for a worker.
func (a *Agents) SweepWorkers(ctx context.Context, begun int64) error {
	workers := a.workerStore()
	if workers == nil {
		return nil
	}
	// Runtimes report times in seconds.
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
