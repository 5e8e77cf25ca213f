package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Spools stores how far the output of runtime processes was read, and the state after it.
type Spools struct {
	db      *database.DB
	nodeID  string
	inOrder func(ctx context.Context, prepare func() journal.Unit) error
	// resumeTexts restores the unfinished texts of a process.
	resumeTexts func(generation string, readTo int64, stored string) error
	now         func() int64 // ms
}

// Resumption returns the stored state of a runtime process that outlived the previous server: the offset read so far,
// the running turns and the pending requests. It is empty for an unknown process.
func (s *Spools) Resumption(ctx context.Context, generation string) (runtime.Resumption, error) {
	q := s.db.Read()
	var r runtime.Resumption
	var texts, state string
	err := q.QueryRowContext(ctx, `select position, texts, state from runtime_spools where generation = $1`, generation).
		Scan(&r.Offset, &texts, &state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("read the offset of runtime process %s: %w", generation, err)
	}
	if state != "" {
		r.State = json.RawMessage(state)
	}
	if err := s.resumeTexts(generation, r.Offset, texts); err != nil {
		return r, err
	}
	turns, err := store.OpenTurns(ctx, q, s.nodeID)
	if err != nil {
		return r, err
	}
	for _, turn := range turns {
		if turn.Generation != generation {
			continue
		}
		r.Turns = append(r.Turns, runtime.RunningTurn{ThreadID: turn.SessionID, TurnID: turn.TurnID})
		if runtime.StandsForLonger(turn.TurnID) {
			r.Described = append(r.Described, turn.Native)
		}
		if runtime.StandsForLonger(turn.SessionID) {
			stored, err := store.ReadSession(ctx, q, turn.SessionID)
			if err != nil {
				return r, err
			}
			r.Described = append(r.Described, stored.Thread)
		}
	}
	pending, err := store.PendingRequestsOfNode(ctx, q, s.nodeID)
	if err != nil {
		return r, err
	}
	decided, err := store.UndeliveredRequests(ctx, q, s.nodeID)
	if err != nil {
		return r, err
	}
	for _, request := range append(pending, decided...) {
		if request.Generation == generation {
			r.Requests = append(r.Requests, runtime.OpenRequest{ThreadID: request.SessionID, TurnID: request.TurnID,
				RequestID: request.NativeID})
		}
	}
	return r, nil
}

// once makes a batch's unit idempotent. In the same transaction it advances the position of the process, and stores
// the state after it. The unit does nothing if the position is already reached, or the process was declared dead.
// Service.order is held.
func (s *Service) once(runtimeName string, batch runtime.Batch, unit journal.Unit) journal.Unit {
	if batch.Offset == 0 && batch.State != nil {
		return s.Spools.keepState(runtimeName, batch, unit)
	}
	if batch.Offset == 0 {
		return unit
	}
	return s.Spools.advance(runtimeName, batch, s.textBuffer(runtimeName, batch.Generation).changedTexts(), unit)
}

// advance moves the stored position of a process in a unit, and stores its unfinished texts.
func (s *Spools) advance(runtimeName string, batch runtime.Batch, texts string, unit journal.Unit) journal.Unit {
	at := s.now()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		result, err := tx.ExecContext(ctx,
			`insert into runtime_spools (generation, runtime, node_id, position, ended, updated_at, texts, state)
			values ($1, $2, $3, $4, 0, $5, $6, $7)
			on conflict (generation) do update set position = excluded.position, updated_at = excluded.updated_at,
				texts = case when excluded.texts = '' then runtime_spools.texts else excluded.texts end,
				state = case when excluded.state = '' then runtime_spools.state else excluded.state end
			where runtime_spools.position < excluded.position and runtime_spools.ended = 0`,
			batch.Generation, runtimeName, s.nodeID, batch.Offset, at, texts, string(batch.State))
		if err != nil {
			return nil, fmt.Errorf("move the position of runtime process %s: %w", batch.Generation, err)
		}
		if moved, err := result.RowsAffected(); err != nil || moved == 0 {
			return nil, err
		}
		return unit(ctx, tx)
	}
}

// keepState also stores, in a unit, the translator's state of a process whose output is not read again.
func (s *Spools) keepState(runtimeName string, batch runtime.Batch, unit journal.Unit) journal.Unit {
	at := s.now()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx,
			`insert into runtime_spools (generation, runtime, node_id, position, ended, updated_at, state)
			values ($1, $2, $3, 0, 0, $4, $5) on conflict (generation) do update set updated_at = excluded.updated_at, state = excluded.state`,
			batch.Generation, runtimeName, s.nodeID, at, string(batch.State))
		if err != nil {
			return nil, fmt.Errorf("keep the state of runtime process %s: %w", batch.Generation, err)
		}
		return unit(ctx, tx)
	}
}

// LastState returns the last runtime.Batch.State of the processes that ran a session's turns; nil for none. For
// session "", it covers all processes of a runtime on this node. The store keeps it for a week after the end of the
// process. It includes all output of the runtime so far.
func (s *Spools) LastState(ctx context.Context, runtimeName, sessionID string) (json.RawMessage, error) {
	if err := s.inOrder(ctx, func() journal.Unit { return nothing }); err != nil {
		return nil, err
	}
	// A process may have ended before it stored a state, so read several of the last turns.
	query, key := `select s.state from (select generation, started_at, turn_id from turns where session_id = $3
			order by started_at desc, turn_id desc limit 16) t join runtime_spools s on s.generation = t.generation
		where s.runtime = $1 and s.node_id = $2 and s.state <> '' order by t.started_at desc, t.turn_id desc limit 1`, database.EncodeText(
		sessionID)
	if sessionID == "" {
		query = `select state from runtime_spools where runtime = $1 and node_id = $2 and state <> $3 order by ` +
			`updated_at desc, generation desc limit 1`
	}
	var state string
	err := s.db.Read().QueryRowContext(ctx, query, runtimeName, s.nodeID, key).Scan(&state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read what the last %s process of session %s left: %w", runtimeName, sessionID, err)
	}
	return json.RawMessage(state), nil
}

// endSpool records the end of a process's output. It returns false if the end is already recorded.
func endSpool(ctx context.Context, tx database.Tx, generation string) (first bool, err error) {
	var ended int64
	err = tx.QueryRowContext(ctx, `select ended from runtime_spools where generation = $1`, generation).Scan(&ended)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err == nil && ended == 0 {
		_, err = tx.ExecContext(ctx, `update runtime_spools set ended = 1 where generation = $1`, generation)
	}
	if err != nil {
		return false, fmt.Errorf("note the end of runtime process %s: %w", generation, err)
	}
	return ended == 0, nil
}

// forget deletes the positions of processes that ended long ago.
func (s *Spools) forget(ctx context.Context, tx database.Tx, at int64) error {
	_, err := tx.ExecContext(ctx, `delete from runtime_spools where node_id = $1 and ended = 1 and updated_at < $2`,
		s.nodeID, at-store.SpoolsKept)
	if err != nil {
		return fmt.Errorf("forget ended runtime processes: %w", err)
	}
	return nil
}

// unanswered records that a dead server's call to a runtime has no answer. Later signals show whether the call took
// effect; its caller can ask again.
func (s *Upserter) unanswered(runtimeName string, signal runtime.Signal) journal.Unit {
	at := s.now()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if signal.ThreadID == "" {
			return nil, nil // the adapter has logged it
		}
		return s.UpsertTranscriptIn(ctx, tx, signal.ThreadID, transcript.Entry{
			MessageID: fmt.Sprintf("unanswered-%s-%s", signal.Generation, signal.RequestID), Role: "system",
			Type: "runtime.unanswered", Content: fmt.Sprintf(
				"The server was restarted while it waited for %s to answer %s. There was no answer, and it was not sent again.",
				runtimeName, signal.Method),
			Status: transcript.Failed, StartedAt: &at, CompletedAt: &at,
		})
	}
}
