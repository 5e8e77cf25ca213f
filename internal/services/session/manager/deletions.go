package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/registry"
)

// The server resends missed deletions to runtimes after deletionPauseMin, then after twice that, up to
// deletionPauseMax. One call waits up to deletionCall.
const (
	deletionPauseMin = time.Second
	deletionPauseMax = time.Minute
	deletionCall     = 30 * time.Second
)

// deletionSender makes runtimes delete conversations whose sessions were deleted while the runtime did not answer.
type deletionSender struct {
	journal  *journal.Journal
	db       *database.DB
	nodeID   string
	runtimes *registry.Registry
	wake     wake.Signal
	log      zerolog.Logger
}

// noAnswer reports whether a runtime was unavailable or timed out, and may answer later. A refusal is an answer.
func noAnswer(err error) bool {
	return errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded)
}

// noteDeletion records, in the transaction that deletes a session, that its runtime still has the conversation.
func (d *deletionSender) noteDeletion(ctx context.Context, tx database.Tx, session session.Session, at int64) error {
	_, err := tx.ExecContext(ctx,
		`insert into thread_deletions (session_id, runtime, runtime_session_id, node_id, created_at)
		values ($1, $2, $3, $4, $5)`,
		database.EncodeText(session.ID), session.Runtime, database.EncodeText(session.RuntimeSessionID), d.nodeID, at)
	if err != nil {
		return fmt.Errorf("note that the runtime has to delete session %s: %w", session.ID, err)
	}
	return nil
}

// deletionLoop sends missed deletions to runtimes until ctx ends: after a new one, when a runtime starts, and after a
// pause.
func (d *deletionSender) deletionLoop(ctx context.Context) {
	pause := deletionPauseMin
	again := time.NewTimer(pause)
	defer again.Stop()
	for {
		select {
		case <-d.wake:
			pause = deletionPauseMin
		case <-again.C:
		case <-ctx.Done():
			return
		}
		again.Stop()
		left, err := d.sendDeletions(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.log.Warn().Err(err).Dur("again_in", pause).Msg("a runtime could not be notified of every deleted session")
		case left == 0:
			continue
		}
		again.Reset(pause)
		pause = min(2*pause, deletionPauseMax)
	}
}

// sendDeletions makes runtimes delete the conversations of deleted sessions that they missed, and returns how many are
// left. If a runtime does not answer, this round does not call it again and reports no error for it.
func (d *deletionSender) sendDeletions(ctx context.Context) (left int, err error) {
	noted, err := d.notedDeletions(ctx)
	if err != nil {
		return 0, err
	}
	silent := map[string]bool{}
	var errs []error
	for _, session := range noted {
		if silent[session.Runtime] {
			left++
			continue
		}
		err := d.sendDeletion(ctx, session)
		if noAnswer(err) {
			silent[session.Runtime], err = true, nil
			left++
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("session %s: %w", session.ID, err))
			left++
		}
	}
	return left, errors.Join(errs...)
}

func (d *deletionSender) sendDeletion(ctx context.Context, session session.Session) error {
	adapter, err := d.runtimes.Adapter(session.Runtime)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, deletionCall)
	defer cancel()
	if err := endOwnProcess(asking, adapter, session.ID); err != nil {
		return err
	}
	if _, err := deleteThread(asking, adapter, session); err != nil && !errors.Is(err, runtime.ErrThreadNotFound) {
		return err
	}
	return d.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `delete from thread_deletions where session_id = $1`, database.EncodeText(session.ID))
		return nil, err
	})
}

// notedDeletions lists the conversations that this node's runtimes must still delete, oldest deletion first.
func (d *deletionSender) notedDeletions(ctx context.Context) ([]session.Session, error) {
	return database.ReadAll(ctx, d.db.Read(), "list noted deletions", func(row database.Row) (one session.Session, err error) {
		err = row.Scan(&one.ID, &one.Runtime, &one.RuntimeSessionID)
		one.ID, one.RuntimeSessionID = database.DecodeText(one.ID), database.DecodeText(one.RuntimeSessionID)
		return one, err
	}, `select session_id, runtime, runtime_session_id from thread_deletions where node_id = $1 order by created_at, session_id`,
		d.nodeID)
}
