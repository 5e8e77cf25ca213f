package action

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/lib/jcs"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// signatureOf returns the SHA-256 of a request's content and subject, equal for every spelling of the same JSON.
func signatureOf(call extensions.ActionCall) (string, error) {
	payload, err := jcs.Transform(call.Request.Payload)
	if err != nil {
		return "", err
	}
	return hash(call.Request.ActionType, call.Scope.ProjectID, call.Scope.SessionID, call.Scope.TurnID, string(payload)),
		nil
}

// hash returns the SHA-256 of a list of texts and their boundaries.
func hash(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d:", len(part)) // writing to a hash never fails
		_, _ = sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// stored is a stored result; Status "" means that the execution is in progress.
type stored struct {
	Status  sdk.ActionStatus `json:"status"`
	Details json.RawMessage  `json:"details,omitempty"`
}

// replayable reports whether an outcome is stored, because a repeat would change nothing. Other outcomes may succeed
// the next time.
func replayable(status sdk.ActionStatus) bool {
	switch status {
	case sdk.Performed, sdk.AlreadyResolved, sdk.NotEligible, sdk.Forbidden:
		return true
	}
	return false
}

// once runs an action at most once per key. Within this process a second caller waits for the first. The key
// is stored before the action runs, so that other processes find it. After a crash in between the action runs
// again, which every action tolerates: upserts repeat harmlessly, decisions are settled once, jobs are
// deduplicated.
func (e *Executor) once(ctx context.Context, key, signature, sessionID string, act prepared) outcome {
	release, err := e.keys.Acquire(ctx, key)
	if err != nil {
		return refused(sdk.Failed, "execution_failed", err.Error())
	}
	defer release()
	previous, found, err := e.claim(ctx, key, signature, sessionID)
	switch {
	case err != nil:
		return refused(sdk.Failed, "idempotency_unavailable", err.Error())
	case found && previous.signature != signature:
		return refused(sdk.Conflict, "idempotency_key_conflict", "this idempotency key was used for another request")
	case found && previous.result.Status != "":
		return replay(previous.result)
	}
	done := act(ctx)
	// Store the outcome even if the caller no longer waits.
	if err := e.keep(context.WithoutCancel(ctx), key, done); err != nil {
		e.opts.Logger.Error().Err(err).Msg("cannot store the result of an action; a repeat will run it again")
	}
	return done
}

func replay(result stored) outcome {
	out := outcome{status: result.Status, more: map[string]any{}}
	if len(result.Details) > 0 && json.Unmarshal(result.Details, &out.more) != nil {
		out.more = map[string]any{}
	}
	out.more["replayed"] = true
	return out
}

type claimed struct {
	signature string
	result    stored
}

// claim stores the key, or reads its stored result.
func (e *Executor) claim(ctx context.Context, key, signature, sessionID string) (previous claimed, found bool,
	err error) {
	at := e.opts.Clock().UnixMilli()
	_, err = e.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		previous, found = claimed{}, false
		var raw string
		switch err := tx.QueryRowContext(ctx, `select signature, result from extension_actions where key = $1`, key).
			Scan(&previous.signature, &raw); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, fmt.Errorf("read action %s: %w", key, err)
		default:
			found = true
			if err := json.Unmarshal([]byte(raw), &previous.result); err != nil {
				return nil, journal.Refuse(fmt.Errorf("stored result of action %s is not readable: %w", key, err))
			}
			return nil, nil
		}
		_, err := tx.ExecContext(ctx,
			`insert into extension_actions (key, signature, result, session_id, created_at) values ($1, $2, '{"status":""}', $3, $4)`,
			key, signature, database.EncodeText(sessionID), at)
		if err != nil {
			return nil, fmt.Errorf("store action %s: %w", key, err)
		}
		return nil, nil
	})
	return previous, found, err
}

// keep stores a replayable outcome, and removes the key of any other.
func (e *Executor) keep(ctx context.Context, key string, done outcome) error {
	_, err := e.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if !replayable(done.status) {
			_, err := tx.ExecContext(ctx, `delete from extension_actions where key = $1`, key)
			return nil, err
		}
		raw, err := json.Marshal(stored{Status: done.status, Details: done.details()})
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `update extension_actions set result = $2 where key = $1`, key, string(raw))
		return nil, err
	})
	return err
}
