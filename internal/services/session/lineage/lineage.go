// Package lineage stores which session started which, and the messages between sessions.
//
// It owns the limits of a tree of sessions and the envelopes of messages between them. It must never know HTTP, a
// runtime, or how a session runs.
package lineage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// The limits of a tree of sessions.
const (
	maxDepth    = 3
	maxChildren = 8  // of one session, not archived
	maxOfRoot   = 32 // not archived
	maxStarts   = 30 // of a root in an hour
)

// keyKept is how long a key identifies a request.
const keyKept = 24 * time.Hour

// Reader reads the lineage and the mail of sessions.
type Reader struct {
	db  *database.DB
	now func() int64 // ms
}

// New returns a Reader.
func New(db *database.DB, now func() int64) *Reader { return &Reader{db, now} }

const columns = `l.session_id, l.parent_id, l.root_id, l.depth, l.started_by_turn, l.start_key, l.request`

func read(ctx context.Context, q database.Querier, query string, args ...any) ([]session.Lineage, error) {
	return database.ReadAll(ctx, q, "read the lineage of sessions", func(row database.Row) (one session.Lineage, err error) {
		err = row.Scan(&one.SessionID, &one.ParentID, &one.RootID, &one.Depth, &one.TurnID, &one.Key, &one.Request)
		for _, text := range []*string{&one.SessionID, &one.ParentID, &one.RootID, &one.TurnID, &one.Key} {
			*text = database.DecodeText(*text)
		}
		return one, err
	}, query, args...)
}

// Descendants lists the sessions below a session, nearest first.
func (r *Reader) Descendants(ctx context.Context, sessionID string) ([]session.Lineage, error) {
	return read(ctx, r.db.Read(), `with recursive below(id) as (
			select session_id from session_lineage where parent_id = $1
			union select l.session_id from session_lineage l join below b on l.parent_id = b.id)
		select `+columns+` from session_lineage l join below b on l.session_id = b.id order by l.depth, l.created_at, l.session_id`,
		database.EncodeText(sessionID))
}

// Child prepares the lineage of a new child of a session. If an earlier request had the key, it returns that child and
// true. session.ErrKeyReused, *session.TreeLimitError.
func (r *Reader) Child(ctx context.Context, parentID, key, request string) (child session.Lineage, made bool, err error) {
	q, parent := r.db.Read(), database.EncodeText(parentID)
	earlier, err := read(ctx, q, `select `+columns+` from session_lineage l
		where l.parent_id = $1 and l.start_key = $2 and l.created_at > $3 order by l.created_at desc limit 1`, parent,
		database.EncodeText(key), r.now()-keyKept.Milliseconds())
	switch {
	case err != nil:
		return child, false, err
	case len(earlier) > 0 && earlier[0].Request != request:
		return child, false, session.ErrKeyReused
	case len(earlier) > 0:
		return earlier[0], true, nil
	}
	child = session.Lineage{ParentID: parentID, RootID: parentID, Depth: 1, Key: key, Request: request}
	own, err := read(ctx, q, `select `+columns+` from session_lineage l where l.session_id = $1`, parent)
	if err != nil {
		return child, false, err
	}
	if len(own) > 0 {
		child.RootID, child.Depth = own[0].RootID, own[0].Depth+1
	}
	if child.TurnID, err = r.RunningTurn(ctx, parentID); err != nil {
		return child, false, err
	}
	return child, false, check(ctx, q, child, r.now())
}

// RunningTurn returns the running turn of a session, "" for none.
func (r *Reader) RunningTurn(ctx context.Context, sessionID string) (turnID string, err error) {
	err = r.db.Read().QueryRowContext(ctx, `select turn_id from turns where session_id = $1 and status = 'inProgress'
		order by started_at desc limit 1`, database.EncodeText(sessionID)).Scan(&turnID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the turn of session %s: %w", sessionID, err)
	}
	return database.DecodeText(turnID), nil
}

// check refuses a child beyond the limits: *session.TreeLimitError.
func check(ctx context.Context, q database.Querier, child session.Lineage, now int64) error {
	if child.Depth > maxDepth {
		return &session.TreeLimitError{Reason: fmt.Sprintf("sessions are started at most %d levels below the first", maxDepth)}
	}
	var children, all, starts, first int64
	err := q.QueryRowContext(ctx, `select
			coalesce(sum(case when s.archived = 0 and l.parent_id = $1 then 1 else 0 end), 0),
			coalesce(sum(case when s.archived = 0 then 1 else 0 end), 0),
			coalesce(sum(case when l.created_at > $3 then 1 else 0 end), 0),
			coalesce(min(case when l.created_at > $3 then l.created_at end), 0)
		from session_lineage l join sessions s on s.id = l.session_id where l.root_id = $2`,
		database.EncodeText(child.ParentID), database.EncodeText(child.RootID), now-time.Hour.Milliseconds()).
		Scan(&children, &all, &starts, &first)
	switch {
	case err != nil:
		return fmt.Errorf("count the sessions below session %s: %w", child.RootID, err)
	case children >= maxChildren:
		return &session.TreeLimitError{Reason: fmt.Sprintf("the session has %d children that are not archived; archive one first", children)}
	case all >= maxOfRoot:
		return &session.TreeLimitError{Reason: fmt.Sprintf("%d sessions below the first one are not archived; archive one first", all)}
	case starts >= maxStarts:
		return &session.TreeLimitError{Reason: fmt.Sprintf("%d sessions were started within an hour", starts),
			RetryAfter: until(first, now)}
	}
	return nil
}

// until returns when an hour has passed since a time.
func until(since, now int64) time.Duration {
	return time.Duration(since-now)*time.Millisecond + time.Hour
}

// Insert stores the lineage of a new session in the unit that creates the session; nil stores nothing. Its error undoes
// the unit: *session.TreeLimitError.
func Insert(ctx context.Context, tx database.Tx, sessionID string, of *session.Lineage, now int64) ([]journal.Event, error) {
	if of == nil {
		return nil, nil
	}
	child := *of
	child.SessionID = sessionID
	if err := check(ctx, tx, child, now); err != nil {
		return nil, err
	}
	_, err := tx.ExecContext(ctx, `insert into session_lineage
		(session_id, parent_id, root_id, depth, started_by_turn, start_key, request, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		database.EncodeText(child.SessionID), database.EncodeText(child.ParentID), database.EncodeText(child.RootID), child.Depth,
		database.EncodeText(child.TurnID), database.EncodeText(child.Key), child.Request, now)
	if err != nil {
		return nil, fmt.Errorf("store the lineage of session %s: %w", child.SessionID, err)
	}
	return []journal.Event{session.NewEvent(child.SessionID, session.EventStartedBySession, now, false, javascript.MustEncode(child))}, nil
}
