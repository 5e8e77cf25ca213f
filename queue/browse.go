package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Filter selects jobs of all projects; an empty field does not filter.
type Filter struct {
	State                    State
	Type, ProjectID, Session string
	// Since and Before bound the time when a job was enqueued, in ms: at Since or later, and before Before.
	Since, Before int64
}

// Browse selects a page of jobs.
type Browse struct {
	Filter
	// Cursor is a JobPage.NextCursor; "" starts with the youngest job.
	Cursor string
	// Limit is the maximum number of jobs on a page.
	Limit int
}

// JobPage is a page of jobs, youngest first; NextCursor is "" on the last page.
type JobPage struct {
	Jobs       []Job
	NextCursor string
	// Counts is the number of jobs that match the filter, by state. It includes states that the filter does not select.
	Counts map[State]int
}

// ErrBadCursor reports a cursor that this server did not issue.
var ErrBadCursor = errors.New("unknown cursor: it was not issued by this server")

// ErrNotOver reports that a job has not ended, so it cannot run again.
var ErrNotOver = errors.New("the job has not ended")

// condition returns the filter as SQL, without its state.
func (f Filter) condition() (where string, args []any) {
	where = `1 = 1`
	add := func(text string, value any) {
		args = append(args, value)
		where += ` and ` + text + ` $` + strconv.Itoa(len(args))
	}
	for _, one := range [][2]string{{`type =`, f.Type}, {`project_id =`, f.ProjectID}, {`source_session_id =`, f.Session}} {
		if one[1] != "" {
			add(one[0], database.EncodeText(one[1]))
		}
	}
	if f.Since > 0 {
		add(`created_at >=`, f.Since)
	}
	if f.Before > 0 {
		add(`created_at <`, f.Before)
	}
	return where, args
}

// Browse lists jobs of all projects. It returns ErrBadCursor for an invalid cursor.
func (q *Queue) Browse(ctx context.Context, want Browse) (page JobPage, err error) {
	before, beforeID, err := parseCursor(want.Cursor)
	if err != nil {
		return page, err
	}
	page = JobPage{Jobs: []Job{}, Counts: map[State]int{}}
	where, args := want.condition()
	err = q.db.Snapshot(ctx, func(q database.Querier) error {
		err := database.ReadEach(ctx, q, "count jobs", func(row database.Row) error {
			var (
				state State
				n     int
			)
			err := row.Scan(&state, &n)
			page.Counts[state] = n
			return err
		}, `select state, count(*) from jobs where `+where+` group by state`, args...)
		if err != nil {
			return err
		}
		if want.State != "" {
			args = append(args, string(want.State))
			where += ` and state = $` + strconv.Itoa(len(args))
		}
		n := len(args)
		args = append(args, before, beforeID, want.Limit+1)
		where += fmt.Sprintf(` and (created_at < $%d or (created_at = $%[1]d and id < $%d)) order by created_at desc, id desc
			limit $%d`, n+1, n+2, n+3)
		page.Jobs, err = database.ReadAll(ctx, q, "list jobs", scanJob, `select `+jobColumns+` from jobs where `+where, args...)
		return err
	})
	if len(page.Jobs) > want.Limit {
		page.Jobs = page.Jobs[:want.Limit]
		last := page.Jobs[want.Limit-1]
		page.NextCursor = strconv.FormatInt(last.CreatedAt, 10) + "|" + last.ID
	}
	return page, err
}

// parseCursor reads "<ms>|<id>"; "" starts with the youngest job.
func parseCursor(cursor string) (before int64, id string, err error) {
	if cursor == "" {
		return math.MaxInt64, "", nil
	}
	at, id, ok := strings.Cut(cursor, "|")
	before, err = strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || id == "" {
		return 0, "", ErrBadCursor
	}
	return before, database.EncodeText(id), nil
}

// Again enqueues an ended job once more, with the same input. If a job with its dedupe key is queued or running, it
// returns that job. Errors are ErrNotFound, ErrNotOver, and *Error as for Enqueue.
func (q *Queue) Again(ctx context.Context, id string) (result EnqueueResult, err error) {
	_, err = q.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
		job, err := readJob(ctx, tx, database.EncodeText(id))
		switch {
		case errors.Is(err, ErrNotFound):
			return nil, journal.Refuse(err)
		case err != nil:
			return nil, err
		case !job.State.Final():
			return nil, journal.Refuse(ErrNotOver)
		}
		result, events, err = q.EnqueueIn(ctx, tx, Request{Type: job.Type, ProjectID: job.ProjectID,
			SourceSessionID: job.SourceSessionID, Priority: job.Priority, DedupeKey: job.DedupeKey, Payload: job.Payload,
			MaxAttempts: job.MaxAttempts, again: true})
		return events, err
	})
	return result, err
}

// mostCanceled is the maximum number of jobs that one CancelAll cancels.
const mostCanceled = 200

// CancelAll cancels the open jobs of a filter, oldest first and at most mostCanceled. It reports whether more jobs
// remain.
func (q *Queue) CancelAll(ctx context.Context, filter Filter, reason string) (canceled []Job, more bool, err error) {
	where, args := filter.condition()
	where += ` and ` + activeStates + ` and cancel_requested_at is null`
	if filter.State != "" {
		args = append(args, string(filter.State))
		where += ` and state = $` + strconv.Itoa(len(args))
	}
	args = append(args, mostCanceled+1)
	ids, err := database.ReadAll(ctx, q.db.Read(), "find jobs to cancel", func(row database.Row) (id string, err error) {
		return id, row.Scan(&id)
	}, `select id from jobs where `+where+` order by created_at, id limit $`+strconv.Itoa(len(args)), args...)
	if err != nil {
		return nil, false, err
	}
	if more = len(ids) > mostCanceled; more {
		ids = ids[:mostCanceled]
	}
	canceled = []Job{}
	for _, id := range ids {
		job, err := q.Cancel(ctx, database.DecodeText(id), reason)
		var over *TerminalError
		if errors.Is(err, ErrNotFound) || errors.As(err, &over) {
			continue // the job ended in between
		}
		if err != nil {
			return canceled, true, err
		}
		canceled = append(canceled, job)
	}
	return canceled, more, nil
}
