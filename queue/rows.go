package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

const jobColumns = `id, type, version, project_id, source_session_id, priority, state, dedupe_key, dedupe_mode, payload,
	result, error, attempts,
	max_attempts, created_at, started_at, completed_at, cancel_requested_at, cancel_reason, next_attempt_at,
		last_attempt_at, thread_id, turn_id,
	node_id, owner, lease_until, reconcile_at, checkpoint`

const activeStates = `state in ('queued', 'running')`

func scanJob(row database.Row) (Job, error) {
	var (
		job     Job
		payload string
		result  *string
		reached string
	)
	err := row.Scan(&job.ID, &job.Type, &job.Version, &job.ProjectID, &job.SourceSessionID, &job.Priority, &job.State,
		&job.DedupeKey, &job.dedupeMode, &payload, &result, &job.Error, &job.Attempts, &job.MaxAttempts, &job.CreatedAt,
		&job.StartedAt, &job.CompletedAt, &job.CancelRequestedAt, &job.cancelReason, &job.NextAttemptAt, &job.LastAttemptAt,
		&job.ThreadID, &job.TurnID, &job.nodeID, &job.owner, &job.leaseUntil, &job.reconcileAt, &reached)
	if err != nil {
		return Job{}, err
	}
	job.Type, job.ProjectID = database.DecodeText(job.Type), database.DecodeText(job.ProjectID)
	for _, text := range []**string{&job.SourceSessionID, &job.DedupeKey, &job.Error, &job.ThreadID, &job.TurnID} {
		if *text != nil {
			decoded := database.DecodeText(**text)
			*text = &decoded
		}
	}
	job.Payload = json.RawMessage(database.DecodeText(payload))
	if result != nil {
		job.Result = json.RawMessage(database.DecodeText(*result))
	}
	if reached != "" {
		job.checkpoint = json.RawMessage(database.DecodeText(reached))
	}
	return job, nil
}

func encodeNullable(text *string) *string {
	if text == nil {
		return nil
	}
	encoded := database.EncodeText(*text)
	return &encoded
}

func values(job Job) []any {
	var result *string
	if job.Result != nil {
		text := database.EncodeText(string(job.Result))
		result = &text
	}
	return []any{job.ID, database.EncodeText(job.Type), job.Version, database.EncodeText(job.ProjectID),
		encodeNullable(job.SourceSessionID), string(job.Priority), string(job.State), encodeNullable(job.DedupeKey),
		string(job.dedupeMode), database.EncodeText(string(job.Payload)), result, encodeNullable(job.Error), job.Attempts,
		job.MaxAttempts, job.CreatedAt, job.StartedAt, job.CompletedAt, job.CancelRequestedAt, job.cancelReason,
		job.NextAttemptAt, job.LastAttemptAt, encodeNullable(job.ThreadID), encodeNullable(job.TurnID), job.nodeID, job.owner,
		job.leaseUntil, job.reconcileAt, database.EncodeText(string(job.checkpoint))}
}

func insertJob(ctx context.Context, tx database.Tx, job Job) error {
	_, err := tx.ExecContext(ctx, `insert into jobs (`+jobColumns+`) values
		($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)`,
		values(job)...)
	if err != nil {
		return fmt.Errorf("insert job %s: %w", job.ID, err)
	}
	return nil
}

// saveJob writes all mutable columns of a job. The caller read the job in the same unit, so no other write happened in
// between.
func saveJob(ctx context.Context, tx database.Tx, job Job) error {
	all := values(job)
	_, err := tx.ExecContext(ctx,
		`update jobs set state = $2, payload = $3, result = $4, error = $5, attempts = $6, started_at = $7,
		completed_at = $8, cancel_requested_at = $9, cancel_reason = $10, next_attempt_at = $11, last_attempt_at = $12, thread_id = $13,
		turn_id = $14, node_id = $15, owner = $16, lease_until = $17, reconcile_at = $18, checkpoint = $19 where id = $1`,
		all[0], all[6], all[9], all[10], all[11], all[12], all[15], all[16], all[17], all[18], all[19], all[20], all[21],
		all[22], all[23], all[24], all[25], all[26], all[27])
	if err != nil {
		return fmt.Errorf("update job %s: %w", job.ID, err)
	}
	return nil
}

func readJob(ctx context.Context, q database.Querier, id string) (Job, error) {
	job, err := scanJob(q.QueryRowContext(ctx, `select `+jobColumns+` from jobs where id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, ErrNotFound
	}
	if err != nil {
		return Job{}, fmt.Errorf("read job %s: %w", id, err)
	}
	return job, nil
}

// readJobs reads the jobs that match a condition, oldest first.
func readJobs(ctx context.Context, q database.Querier, condition string, args ...any) ([]Job, error) {
	return database.ReadAll(ctx, q, "read jobs", scanJob, `select `+jobColumns+` from jobs where `+condition+
		` order by created_at, id`, args...)
}

// ownerElsewhere selects the other node that must run a job about a session, because the session's directory and
// runtime are there; empty for none. $2 is this node's id.
const ownerElsewhere = `coalesce((select s.node_id from sessions s where s.id = jobs.source_session_id and s.node_id <> $2), '')`

// readCandidates reads the oldest ready job of known types for each idle project and priority, for this node and for
// each other node.
func readCandidates(ctx context.Context, tx database.Tx, known registry, node string, now int64) ([]Candidate, error) {
	types, args := known.condition(3)
	return database.ReadAll(ctx, tx, "read the jobs to start", func(row database.Row) (c Candidate, err error) {
		return c, row.Scan(&c.ID, &c.ProjectID, &c.Priority, &c.CreatedAt, &c.Node, &c.Burst)
	}, `select c.id, c.project_id, c.priority, c.created_at, c.node, coalesce(l.burst, 0) from (
			select id, project_id, priority, created_at, node, row_number() over (
				partition by project_id, priority, node order by created_at, id) as place from (
				select id, project_id, priority, created_at, `+ownerElsewhere+` as node
				from jobs where state = 'queued' and `+types+` and (next_attempt_at is null or next_attempt_at <= $1)
					and project_id not in (select project_id from jobs where state = 'running')
			) ready
		) c left join job_lanes l on l.project_id = c.project_id where c.place = 1`, append([]any{now, node}, args...)...)
}

// count reads one number.
func count(ctx context.Context, q database.Querier, condition string, args ...any) (int, error) {
	var n int
	if err := q.QueryRowContext(ctx, `select count(*) from jobs where `+condition, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return n, nil
}

// noteStart stores the project's burst counter, so that restarts do not starve a background job.
func noteStart(ctx context.Context, tx database.Tx, job Job) error {
	project := database.EncodeText(job.ProjectID)
	statement := `insert into job_lanes (project_id, burst) values ($1, 1) on conflict (project_id) do update set burst = job_lanes.burst + 1`
	if job.Priority == Background {
		statement = `delete from job_lanes where project_id = $1`
	}
	if _, err := tx.ExecContext(ctx, statement, project); err != nil {
		return fmt.Errorf("count the burst of project %s: %w", job.ProjectID, err)
	}
	return nil
}

// prune keeps a project's newest final jobs (failed ones before canceled before completed ones), and those with an
// owed reconciliation.
func prune(ctx context.Context, tx database.Tx, projectID string, keep int) error {
	_, err := tx.ExecContext(ctx, `delete from jobs where id in (select id from (
			select id, row_number() over (order by case state when 'failed' then 0 when 'canceled' then 1 else 2
			end, completed_at desc, id desc) as place
			from jobs where project_id = $1 and state in ('completed', 'failed', 'canceled')
		) ranked where place > $2) and reconcile_at is null`, database.EncodeText(projectID), keep)
	if err != nil {
		return fmt.Errorf("prune the jobs of project %s: %w", projectID, err)
	}
	return nil
}

// readCounts reads the health figures.
func readCounts(ctx context.Context, q database.Querier) (counts Counts, err error) {
	of := map[State]*int{Queued: &counts.Queued, Running: &counts.Running, Completed: &counts.Completed,
		Failed: &counts.Failed, Canceled: &counts.Canceled}
	err = database.ReadEach(ctx, q, "count jobs", func(row database.Row) error {
		var (
			state State
			n     int
		)
		err := row.Scan(&state, &n)
		if count, known := of[state]; known {
			*count = n
		}
		return err
	}, `select state, count(*) from jobs group by state`)
	if err != nil {
		return Counts{}, err
	}
	if err := q.QueryRowContext(ctx, `select count(distinct project_id) from jobs`).Scan(&counts.Projects); err != nil {
		return Counts{}, fmt.Errorf("count projects with jobs: %w", err)
	}
	return counts, nil
}

// runningIn reads the job that runs in a session; false for none.
func runningIn(ctx context.Context, q database.Querier, threadID string) (Job, bool, error) {
	job, err := scanJob(
		q.QueryRowContext(ctx, `select `+jobColumns+` from jobs where state = 'running' and thread_id = $1`,
			database.EncodeText(threadID)))
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, false, nil
	}
	return job, err == nil, err
}
