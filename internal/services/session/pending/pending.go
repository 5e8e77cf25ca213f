package pending

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"harness/internal/lib/ids"
	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

const (
	temporaryPrefix = "temp-"
	// temporaryKept is how long (ms) a temporary id is valid.
	temporaryKept = 3_600_000

	temporaryPending  = "pending"
	temporaryResolved = "resolved"
	temporaryFailed   = "failed"
)

// pendingSessions holds the ids of sessions that this process is opening. Each has a channel that is closed when its
// id is settled.
type pendingSessions struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

// PromiseSession returns a temporary id for a session of a runtime and project. Its caller must call KeepPromise
// exactly once.
func (o *Opener) PromiseSession(ctx context.Context, runtimeName, projectID string) (session.Temporary, error) {
	id := ids.New()
	t := session.Temporary{ID: temporaryPrefix + id, SessionID: id, Runtime: runtimeName, ProjectID: projectID}
	at := o.options.Now()
	o.pending.begin(t.ID)
	err := o.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := tx.ExecContext(ctx, `delete from temporary_sessions where created_at < $1 and state <> 'pending'`,
			at-temporaryKept); err != nil {
			return nil, fmt.Errorf("forget old temporary sessions: %w", err)
		}
		_, err := tx.ExecContext(ctx,
			`insert into temporary_sessions (temporary_id, session_id, runtime, project_id, node_id, state, created_at)
			values ($1, $2, $3, $4, $5, $6, $7)`, t.ID, id, runtimeName, database.EncodeText(projectID), o.options.NodeID,
			temporaryPending, at)
		if err != nil {
			return nil, fmt.Errorf("store temporary session %s: %w", t.ID, err)
		}
		return nil, nil
	})
	if err != nil {
		o.pending.end(t.ID)
	}
	return t, err
}

// KeepPromise opens the session of a temporary id and publishes the result: EventIDResolved or EventIDFailed, exactly
// once. word formats an error for clients.
func (o *Opener) KeepPromise(ctx context.Context, t session.Temporary, in session.Create, word func(error) string) error {
	defer o.pending.end(t.ID)
	ctx = context.WithoutCancel(ctx)
	in.ID, in.Runtime = t.SessionID, t.Runtime
	made, err := o.options.Sessions.Create(ctx, in)
	if err == nil && t.ProjectID != "" {
		_, err = o.options.Sessions.AssignProject(ctx, made.ID, &t.ProjectID)
	}
	why := ""
	if err != nil {
		why = word(err)
	}
	return errors.Join(err, o.settlePending(ctx, t, made.ID, why))
}

// settlePending publishes the result for a temporary id. If the session exists, it publishes its id even after an
// error.
func (o *Opener) settlePending(ctx context.Context, t session.Temporary, realID, why string) error {
	news := session.IDNews{TemporaryID: t.ID, RealID: realID, Runtime: t.Runtime, ProjectID: t.ProjectID}
	state, kind := temporaryResolved, session.EventIDResolved
	if realID == "" {
		state, kind, news.Reason, news.Message = temporaryFailed, session.EventIDFailed, "error", why
	}
	return o.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		result, err := tx.ExecContext(ctx,
			`update temporary_sessions set state = $2, session_id = $3 where temporary_id = $1 and state = 'pending'`,
			t.ID, state, realID)
		if err != nil {
			return nil, fmt.Errorf("settle temporary session %s: %w", t.ID, err)
		}
		if changed, err := result.RowsAffected(); err != nil || changed == 0 {
			return nil, err
		}
		return []journal.Event{{Type: kind, Time: o.options.Now(), Source: session.EventSource, Broadcast: true,
			Payload: javascript.MustEncode(news)}}, nil
	})
}

// SettlePending publishes the results for unsettled ids of an earlier process of this node.
func (o *Opener) SettlePending(ctx context.Context) error {
	left, err := database.ReadAll(ctx, o.options.DB.Read(), "list temporary sessions",
		func(row database.Row) (t session.Temporary, err error) {
			err = row.Scan(&t.ID, &t.SessionID, &t.Runtime, &t.ProjectID)
			t.ProjectID = database.DecodeText(t.ProjectID)
			return t, err
		}, `select temporary_id, session_id, runtime, project_id from temporary_sessions where state = 'pending' and node_id = $1`,
		o.options.NodeID)
	if err != nil {
		return err
	}
	for _, t := range left {
		made, err := o.options.Sessions.Stored(ctx, t.SessionID)
		if err == nil && made.ProjectID == nil && t.ProjectID != "" {
			_, err = o.options.Sessions.AssignProject(ctx, t.SessionID, &t.ProjectID)
		}
		if err != nil && !errors.Is(err, session.ErrProjectNotFound) && !session.Absent(err) {
			return err
		}
		if err := o.settlePending(ctx, t, made.ID,
			"the server ended before the session was opened; start it again"); err != nil {
			return err
		}
	}
	return nil
}

// RealID returns the session's id for a temporary one, and waits while this process is opening the session. It returns
// any other id unchanged. It returns ErrNotFound for an expired id, or if the session was never opened.
func (o *Opener) RealID(ctx context.Context, id string) (string, error) {
	if !strings.HasPrefix(id, temporaryPrefix) {
		return id, nil
	}
	select {
	case <-o.pending.over(id):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	var real, state string
	err := o.options.DB.Read().QueryRowContext(ctx,
		`select session_id, state from temporary_sessions where temporary_id = $1 and created_at > $2`,
		database.EncodeText(id), o.options.Now()-temporaryKept).Scan(&real, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && state == temporaryFailed:
		return "", session.ErrNotFound
	case err != nil:
		return "", fmt.Errorf("look up temporary session %s: %w", id, err)
	case state == temporaryPending: // another node is opening it
		return "", fmt.Errorf("%w: it is still being opened", session.ErrNotFound)
	}
	return real, nil
}

func (t *pendingSessions) begin(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]chan struct{}{}
	}
	t.open[id] = make(chan struct{})
}

func (t *pendingSessions) end(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done, open := t.open[id]; open {
		close(done)
		delete(t.open, id)
	}
}

// over returns a channel that is closed once an id is settled by this process.
func (t *pendingSessions) over(id string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done, open := t.open[id]; open {
		return done
	}
	done := make(chan struct{})
	close(done)
	return done
}
