package background

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// endStep is the pause between two listings while ended work is stopping.
const endStep = 50 * time.Millisecond

// endRounds is how often all background work is listed and ended: work may start more work while it ends.
const endRounds = 3

// EndBackground ends one background task of a session without starting a turn. It returns runtime.ErrNoBackground if
// the task has ended, and *runtime.UnsupportedError if the runtime cannot end only this task.
func (m *Monitor) EndBackground(ctx context.Context, sessionID, id string) error {
	sess, adapter, err := m.options.Owned(ctx, sessionID)
	if err != nil {
		return err
	}
	ender, err := runtime.As[runtime.Backgrounder](adapter, runtime.OpTerminals)
	if err != nil {
		return err
	}
	tasks, err := m.Background(ctx, sessionID)
	if err != nil {
		return err
	}
	found := slices.IndexFunc(tasks, func(task session.BackgroundTask) bool { return task.ID == id })
	if found < 0 {
		return fmt.Errorf("%w: %s of session %s is over", runtime.ErrNoBackground, id, sessionID)
	}
	if _, cleans := runtime.Has[runtime.TerminalCleaner](adapter, runtime.OpTerminals); !tasks[found].CanEnd && !cleans {
		return &runtime.UnsupportedError{Runtime: sess.Runtime, Operation: "end this command",
			Remedy: fmt.Sprintf("`%s` began while another session had a turn in the same folder, so it may be that session's: "+
				"have the agent end it, or end it on the machine", tasks[found].Command)}
	}
	if err := m.awaitProcess(ctx, sess); err != nil {
		return err
	}
	err = ender.EndBackground(ctx, runtime.ResumeThread{ThreadID: sess.ID, NativeID: sess.RuntimeSessionID}, id)
	if errors.Is(err, runtime.ErrThreadNotFound) {
		err = runtime.ErrNoBackground
	}
	_, listed := m.Background(ctx, sessionID)
	if err != nil {
		return fmt.Errorf("end background task %s: %w", id, err)
	}
	return listed
}

// awaitProcess waits until the process of a session's background work is attached, or until the session has no such
// work. After a restart, the server lists stored work before it has attached to the processes of the earlier server.
func (m *Monitor) awaitProcess(ctx context.Context, sess session.Session) error {
	for began := time.Now(); ; {
		if generation, _ := m.options.Index.Generation(sess.Runtime, sess.ID); generation != "" {
			return nil
		}
		stored, err := store.ReadBackgroundOf(ctx, m.options.DB.Read(), sess.ID)
		if err != nil || len(stored) == 0 {
			return err
		}
		if time.Since(began) > backgroundPatience {
			return fmt.Errorf("%w: the server is not connected to the %s process of session %s yet; try again",
				runtime.ErrUnavailable, sess.Runtime, sess.ID)
		}
		select {
		case <-time.After(endStep):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// EndAllBackground ends all background work of a session and returns the ended work. If the runtime has no background
// work, it returns none. If it returns without an error, no work is left.
func (m *Monitor) EndAllBackground(ctx context.Context, sessionID string) (ended []session.BackgroundTask, err error) {
	tasks, err := m.Background(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tasks, func(task session.BackgroundTask) bool { return !task.CanEnd }) {
		session, adapter, err := m.options.Owned(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		if cleaner, cleans := runtime.Has[runtime.TerminalCleaner](adapter, runtime.OpTerminals); cleans {
			if _, err := cleaner.CleanTerminals(ctx, session.ID); err != nil && !isWithoutBackground(err) {
				return nil, err
			}
			return tasks, m.awaitBackgroundEnd(ctx, sessionID)
		}
	}
	return m.EndBackgroundWhere(ctx, sessionID, func(session.BackgroundTask) bool { return true })
}

// EndBackgroundWhere ends the selected background work of a session.
func (m *Monitor) EndBackgroundWhere(ctx context.Context, sessionID string,
	chosen func(session.BackgroundTask) bool) (ended []session.BackgroundTask,
	err error) {
	for round := 0; ; round++ {
		tasks, err := m.Background(ctx, sessionID)
		if err != nil {
			return ended, err
		}
		left := 0
		var failed error
		for _, task := range tasks {
			if !chosen(task) {
				continue
			}
			left++
			switch err := m.EndBackground(ctx, sessionID, task.ID); {
			case err == nil:
				ended = append(ended, task)
			case !isWithoutBackground(err):
				failed = errors.Join(failed, err)
			}
		}
		if left == 0 || failed != nil {
			return ended, failed
		}
		if round == endRounds {
			return ended, fmt.Errorf("%w: background work of session %s still runs after it was stopped", runtime.ErrTimeout, sessionID)
		}
	}
}

// awaitBackgroundEnd waits until a session has no background work. Its caller has already ended the work.
func (m *Monitor) awaitBackgroundEnd(ctx context.Context, sessionID string) error {
	for began := time.Now(); ; {
		tasks, err := m.Background(ctx, sessionID)
		if err != nil || len(tasks) == 0 {
			return err
		}
		if time.Since(began) > backgroundPatience {
			return fmt.Errorf("%w: background work of session %s still runs after it was stopped", runtime.ErrTimeout, sessionID)
		}
		select {
		case <-time.After(endStep):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// turnSlack is the time (ms) by which a command's start may appear to lie outside its turn.
const turnSlack = 200

// placeShared reports whether a task that its runtime cannot assign belongs to a session. The session's turn must have
// run when the task started. Every other turn at that time must have run in another folder. A task that may also
// belong to another session cannot be ended. Work of a running turn is part of that turn, and not the session's
// background work.
func placeShared(ctx context.Context, tx database.Tx, sessionID string, one runtime.BackgroundTask,
	task *session.BackgroundTask) (ours bool,
	err error) {
	type turn struct{ sessionID, turnID, status, cwd string }
	turns, err := database.ReadAll(ctx, tx, "read which turns ran when a command began", func(row database.Row) (t turn, err error) {
		err = row.Scan(&t.sessionID, &t.turnID, &t.status, &t.cwd)
		t.sessionID, t.turnID, t.cwd = database.DecodeText(t.sessionID), database.DecodeText(t.turnID), database.DecodeText(t.cwd)
		return t, err
	}, `select t.session_id, t.turn_id, t.status, s.cwd from sessions s join turns t on t.session_id = s.id
		join sessions own on own.id = $1 and own.runtime = s.runtime and own.node_id = s.node_id
		where t.started_at <= $2 and (t.status = 'inProgress' or t.completed_at >= $3) order by t.started_at`,
		database.EncodeText(sessionID), one.StartedAt+turnSlack, one.StartedAt-turnSlack)
	if err != nil {
		return false, err
	}
	works := func(t turn) bool { return t.cwd != "" && within(one.Dir, t.cwd) }
	if slices.ContainsFunc(turns, works) {
		turns = slices.DeleteFunc(turns, func(t turn) bool { return !works(t) })
	}
	for _, t := range turns {
		if t.sessionID == sessionID {
			ours, task.TurnID = t.status != string(runtime.TurnInProgress), t.turnID
		} else {
			task.CanEnd = false
		}
	}
	return ours, nil
}

// within reports whether a folder equals another folder or is below it.
func within(dir, top string) bool {
	dir, top = filepath.Clean(dir), filepath.Clean(top)
	return dir == top || strings.HasPrefix(dir, strings.TrimSuffix(top, "/")+"/")
}
