package store

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// BackgroundColumns are the columns that ReadBackground reads, in its order.
const BackgroundColumns = `task_id, kind, command, turn_id, started_at, can_end`

// ReadBackground reads the background work of sessions, oldest first.
func ReadBackground(ctx context.Context, q database.Querier, where string, args ...any) (map[string][]session.BackgroundTask, error) {
	all := map[string][]session.BackgroundTask{}
	return all, database.ReadEach(ctx, q, "read the background work of sessions", func(row database.Row) error {
		var id string
		var canEnd int64
		var task session.BackgroundTask
		err := row.Scan(&id, &task.ID, &task.Kind, &task.Command, &task.TurnID, &task.StartedAt, &canEnd)
		for _, text := range []*string{&id, &task.ID, &task.Command, &task.TurnID} {
			*text = database.DecodeText(*text)
		}
		task.CanEnd = canEnd != 0
		all[id] = append(all[id], task)
		return err
	}, `select session_id, `+BackgroundColumns+` from background_tasks where `+where+` order by started_at, task_id`, args...)
}

// ReadBackgroundOf reads the background work of one session, oldest first.
func ReadBackgroundOf(ctx context.Context, q database.Querier, sessionID string) ([]session.BackgroundTask, error) {
	all, err := ReadBackground(ctx, q, `session_id = $1`, database.EncodeText(sessionID))
	return all[sessionID], err
}
