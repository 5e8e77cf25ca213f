package background

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Report lists a session's background work at one time.
type Report struct {
	SessionID, Generation string
	Tasks                 []runtime.BackgroundTask
	At                    int64
}

// StoreBackground replaces a session's rows by the reported tasks, and returns the event of the change, if any.
func (m *Monitor) StoreBackground(ctx context.Context, tx database.Tx, news Report) ([]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, news.SessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	before, err := store.ReadBackgroundOf(ctx, tx, news.SessionID)
	if err != nil {
		return nil, err
	}
	after, err := m.placed(ctx, tx, news, before)
	if err != nil {
		return nil, err
	}
	if slices.Equal(before, after) {
		return nil, nil
	}
	if err := m.replaceBackground(ctx, tx, news, after); err != nil {
		return nil, err
	}
	event, err := backgroundUpdated(ctx, tx, news.SessionID, after, news.At, systemOwned)
	return []journal.Event{event}, err
}

// placed returns the reported tasks of the session, and fills in the known turns and times.
func (m *Monitor) placed(ctx context.Context, tx database.Tx, news Report,
	before []session.BackgroundTask) (after []session.BackgroundTask,
	err error) {
	running, _, err := store.RunningTurn(ctx, tx, news.SessionID)
	if err != nil {
		return nil, err
	}
	for _, one := range news.Tasks {
		task := session.BackgroundTask{ID: one.ID, Kind: one.Kind, Command: one.Command, CanEnd: one.CanEnd, TurnID: one.TurnID,
			StartedAt: one.StartedAt}
		known := slices.IndexFunc(before, func(b session.BackgroundTask) bool { return b.ID == one.ID })
		switch {
		case known >= 0:
			task.TurnID, task.StartedAt, task.CanEnd = before[known].TurnID, before[known].StartedAt, before[known].CanEnd
		case one.Shared:
			ours, err := placeShared(ctx, tx, news.SessionID, one, &task)
			if err != nil {
				return nil, err
			}
			if !ours {
				continue
			}
		default:
			if err := m.placeTask(ctx, tx, news, one, &task); err != nil {
				return nil, err
			}
			if one.Found && task.TurnID == running {
				continue
			}
		}
		after = append(after, task)
	}
	slices.SortFunc(after, func(a, b session.BackgroundTask) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), strings.Compare(a.ID, b.ID))
	})
	return after, nil
}

// placeTask finds the turn and the start time of a task if its runtime does not report them. It uses those of the
// task's item, else the last turn and the current time.
func (m *Monitor) placeTask(ctx context.Context, tx database.Tx, news Report, one runtime.BackgroundTask,
	task *session.BackgroundTask) error {
	if one.ItemID != "" {
		entry, found, err := m.entries.Find(ctx, tx, news.SessionID, one.ItemID)
		if err != nil {
			return err
		}
		if found && task.TurnID == "" {
			task.TurnID = entry.TurnID
		}
		if found && task.StartedAt == 0 && entry.StartedAt != nil {
			task.StartedAt = *entry.StartedAt
		}
	}
	if task.StartedAt == 0 {
		task.StartedAt = news.At
	}
	if task.TurnID != "" {
		return nil
	}
	turn, err := lastTurnAt(ctx, tx, news.SessionID, task.StartedAt)
	task.TurnID = turn
	return err
}

// lastTurnAt returns the last turn of a session that had started by a time, "" for none.
func lastTurnAt(ctx context.Context, q database.Querier, sessionID string, at int64) (turn string, err error) {
	turns, err := database.ReadAll(ctx, q, "read the last turn of session "+sessionID, func(row database.Row) (id string, err error) {
		err = row.Scan(&id)
		return database.DecodeText(id), err
	}, `select turn_id from turns where session_id = $1 and started_at <= $2 order by started_at desc, turn_id desc limit 1`,
		database.EncodeText(sessionID), at)
	if err != nil || len(turns) == 0 {
		return "", err
	}
	return turns[0], nil
}

func (m *Monitor) replaceBackground(ctx context.Context, tx database.Tx, news Report, tasks []session.BackgroundTask) error {
	key := database.EncodeText(news.SessionID)
	_, err := tx.ExecContext(ctx, `delete from background_tasks where session_id = $1`, key)
	for _, task := range tasks {
		if err != nil {
			break
		}
		_, err = tx.ExecContext(ctx, `insert into background_tasks (session_id, generation, node_id, `+store.BackgroundColumns+`)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, key, news.Generation, m.options.NodeID, database.EncodeText(task.ID),
			task.Kind, database.EncodeText(task.Command), database.EncodeText(task.TurnID), task.StartedAt, store.Flag(task.CanEnd))
	}
	if err != nil {
		return fmt.Errorf("store the background work of session %s: %w", news.SessionID, err)
	}
	return nil
}

// backgroundUpdated returns the event of a session's current activity.
func backgroundUpdated(ctx context.Context, q database.Querier, sessionID string, tasks []session.BackgroundTask, at int64,
	systemOwned bool) (journal.Event, error) {
	turn, _, err := store.RunningTurn(ctx, q, sessionID)
	if err != nil {
		return journal.Event{}, err
	}
	return session.NewEvent(sessionID, session.EventBackground, at, systemOwned, javascript.MustEncode(struct {
		SessionID string        `json:"sessionId"`
		Activity  session.Doing `json:"activity"`
	}{sessionID, session.Activity{ActiveTurnID: turn, Background: tasks}.Doing()})), nil
}

// EndBackgroundOf removes the background tasks of dead runtime processes of a node.
func (m *Monitor) EndBackgroundOf(ctx context.Context, tx database.Tx, node string, dead func(generation string) bool,
	at int64) (events []journal.Event, err error) {
	type owner struct{ sessionID, generation string }
	owners, err := database.ReadAll(ctx, tx, "read which processes have background work", func(row database.Row) (o owner, err error) {
		err = row.Scan(&o.sessionID, &o.generation)
		o.sessionID = database.DecodeText(o.sessionID)
		return o, err
	}, `select distinct session_id, generation from background_tasks where node_id = $1 order by session_id`, node)
	for _, one := range owners {
		if err != nil {
			return nil, err
		}
		if !dead(one.generation) {
			continue
		}
		var more []journal.Event
		more, err = m.StoreBackground(ctx, tx, Report{SessionID: one.sessionID, At: at})
		events = append(events, more...)
	}
	return events, err
}

var _ json.Marshaler = session.BackgroundTask{}

// isWithoutBackground reports whether an error means that the runtime has no background work, or not this task.
func isWithoutBackground(err error) bool {
	return errors.Is(err, runtime.ErrNoBackground) || errors.Is(err, runtime.ErrThreadNotFound)
}
