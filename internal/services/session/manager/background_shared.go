package manager

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// turnSlack is by how much (ms) a command may seem to begin outside the turn that began it.
const turnSlack = 200

// placeShared tells whether a task that its runtime cannot place is a session's: the session's turn ran when the task
// began, and no other session's did, or only in other folders. A task that may be another session's, too, cannot be ended.
// What a running turn has begun is part of that turn, and not the session's background work.
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

// within tells whether a folder is another one, or below it.
func within(dir, top string) bool {
	dir, top = filepath.Clean(dir), filepath.Clean(top)
	return dir == top || strings.HasPrefix(dir, strings.TrimSuffix(top, "/")+"/")
}
