package queue

import (
	"context"
	"errors"
	"strconv"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// The queue retries a failed reconciliation with growing delays within these limits, and drops it after this time.
const (
	soonestReconciliation = time.Second
	latestReconciliation  = 5 * time.Minute
	reconciliationKept    = 24 * time.Hour
)

// reconcile runs owed reconciliations of ended jobs, whose Definition.OnTerminal failed. Each runs in a separate unit,
// so that one does not block another. Any node may run it: the transaction that ended the job stored the debt in its
// row.
func (q *Queue) reconcile(ctx context.Context) error {
	mine, args := q.owing(2)
	owing, err := readJobs(ctx, q.db.Read(), `reconcile_at <= $1 and `+mine, append([]any{q.now()}, args...)...)
	if err != nil {
		return err
	}
	for _, job := range owing {
		if err := q.reconcileJob(ctx, job.ID); err != nil {
			return err
		}
	}
	return nil
}

// owing selects the jobs whose reconciliation this node may run: jobs of types it knows, and all overdue ones.
func (q *Queue) owing(first int) (condition string, args []any) {
	types, args := q.definitions.condition(first + 1)
	return `(` + types + ` or completed_at < $` + strconv.Itoa(first) +
		`)`, append([]any{q.now() - reconciliationKept.Milliseconds()}, args...)
}

func (q *Queue) reconcileJob(ctx context.Context, id string) error {
	dropped := false
	err := q.decide(ctx, func(ctx context.Context, tx database.Tx, d decider) (events []journal.Event, err error) {
		events, dropped, err = d.reconcile(ctx, tx, id, q.now())
		return events, err
	})
	if err == nil && dropped {
		q.log.Error().Str("job", id).Dur("after", reconciliationKept).
			Msg("a finished job's reconciliation kept failing; its promised entries stay open")
	}
	return err
}

// reconcile runs the definition's reconciliation of an ended job. Without hooks it is postponed, and dropped after the
// time limit.
func (d decider) reconcile(ctx context.Context, tx database.Tx, id string, now int64) (events []journal.Event,
	dropped bool, err error) {
	job, err := readJob(ctx, tx, id)
	if errors.Is(err, ErrNotFound) || err == nil && job.reconcileAt == nil {
		return nil, false, nil // another node ran it first
	}
	if err != nil {
		return nil, false, err
	}
	job.reconcileAt = nil
	if definition, known := d.definitions[job.Type]; known && d.hooks {
		if hook := definition.OnTerminal; hook != nil {
			if events, err = hook(ctx, tx, job); err != nil {
				return nil, false, &hookError{job: job.ID, err: err}
			}
		}
		return events, false, saveJob(ctx, tx, job)
	}
	owedFor := now - *job.CompletedAt
	if dropped = owedFor > reconciliationKept.Milliseconds(); !dropped {
		next := now + min(max(owedFor, soonestReconciliation.Milliseconds()), latestReconciliation.Milliseconds())
		job.reconcileAt = &next
	}
	return nil, dropped, saveJob(ctx, tx, job)
}
