package reading

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// fillActivity sets the activity of sessions with one query, whose cost does not depend on their length.
func (r *Reader) fillActivity(ctx context.Context, q database.Querier, sessions ...*session.Session) error {
	if len(sessions) == 0 {
		return nil
	}
	byID := make(map[string]*session.Session, len(sessions))
	args, marks := make([]any, len(sessions)), make([]string, len(sessions))
	for i, one := range sessions {
		byID[one.ID] = one
		one.Activity = session.Activity{State: session.StateIdle}
		args[i], marks[i] = database.EncodeText(one.ID), "$"+strconv.Itoa(i+1)
	}
	what := fmt.Sprintf("read what goes on in %d sessions", len(sessions))
	working, err := store.ReadBackground(ctx, q, `session_id in (`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return err
	}
	return database.ReadEach(ctx, q, what, func(row database.Row) error {
		id, now, err := scanActivity(row)
		if err != nil {
			return err
		}
		if one := byID[id]; one != nil {
			if now.ActiveTurnID != "" && r.unresponsive(*one) {
				now.State = session.StateUnresponsive
			}
			now.Background = working[one.ID]
			one.Activity = now
		}
		return nil
	}, activityOf(strings.Join(marks, ", "), len(marks)), args...)
}

// scanActivity reads a row of activityOf.
func scanActivity(row database.Row) (id string, now session.Activity, err error) {
	var (
		last            string
		content, stored sql.NullString
		cutOff          int64
	)
	if err := row.Scan(&id, &now.ActiveTurnID, &now.PendingCount, &last, &cutOff, &content, &stored); err != nil {
		return "", session.Activity{}, err
	}
	now.ActiveTurnID = database.DecodeText(now.ActiveTurnID)
	if cutOff > 0 && now.ActiveTurnID == "" {
		now.RetryableTurnID = database.DecodeText(last)
	}
	if content.Valid {
		now.LastError = &session.TurnError{TurnID: cmp.Or(now.ActiveTurnID, database.DecodeText(last)),
			Message: transcript.ContentOf(content.String, stored)}
	}
	switch {
	case now.ActiveTurnID != "" && now.PendingCount > 0:
		now.State = session.StateWaiting
	case now.ActiveTurnID != "":
		now.State = session.StateRunning
	case now.LastError != nil:
		now.State = session.StateError
	default:
		now.State = session.StateIdle
	}
	return database.DecodeText(id), now, nil
}

// activityOf is the query for the activity of n sessions, whose ids are its arguments. Its limit keeps Postgres from
// reading the last turn again for each use of it.
func activityOf(ids string, n int) string {
	const failure = ` from transcript_entries where session_id = a.id and message_id = case a.running
		when '' then '` + session.TurnErrorPrefix + `' || a.last else '` + session.TurnRetryPrefix + `' || a.running end
		and (a.running = '' or status = 'error'))`
	return `select a.id, a.running, a.waiting, a.last,
			(select count(*) from turns t where t.session_id = a.id and t.turn_id = a.last and t.status = 'interrupted' and t.input <> ''),
			(select content` + failure + `, (select ` + transcript.CheckedEntry + failure + ` from (select s.id as id,
			coalesce((select t.turn_id from turns t where t.session_id = s.id and t.status = 'inProgress'
				order by t.started_at desc, t.turn_id desc limit 1), '') as running,
			(select count(*) from interactive_requests r where r.session_id = s.id and r.status = 'pending') as waiting,
			coalesce((select t.turn_id from turns t where t.session_id = s.id
				and not exists (select 1 from rolled_back_turns b where b.session_id = t.session_id and b.turn_id = t.turn_id)
				order by t.started_at desc, t.turn_id desc limit 1), '') as last
		from sessions s where s.id in (` + ids + `) limit ` + strconv.Itoa(n) + `) as a`
}

// unresponsive reports whether the runtime of a session of this node does not answer. This node does not know the
// state of other nodes' runtimes.
func (r *Reader) unresponsive(session session.Session) bool {
	if !r.owns(session) {
		return false
	}
	adapter, err := r.runtimes.Adapter(session.Runtime)
	return err == nil && adapter.Status().Of(session.ID) == runtime.StateUnresponsive
}

// Shown reads a session as clients see it.
func (r *Reader) Shown(ctx context.Context, sessionID string) (session.Session, error) {
	sess, err := r.Stored(ctx, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	return sess, r.fillActivity(ctx, r.db.Read(), &sess)
}
