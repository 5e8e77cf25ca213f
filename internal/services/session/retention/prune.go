// Package retention removes rows that are no longer needed: settled requests, old turns, archived transcripts.
//
// It runs beside the manager and only through the journal and the store. It must never know a running runtime or the
// live index.
package retention

import (
	"context"
	"fmt"
	"time"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Policy sets how long rows are kept, and how many; 0 keeps all. The oldest rows are removed first.
type Policy struct {
	// Records is the maximum age and MaxRecords the maximum number of settled requests. Turns that were rolled back
	// and turns of workers' sessions are removed by age alone.
	Records    time.Duration
	MaxRecords int
	// Archived is how long after archiving a session keeps its transcript. MaxArchived is how many archived sessions
	// keep one. The session itself stays. A later read imports again what its runtime still has.
	Archived    time.Duration
	MaxArchived int
	// Turns is the maximum age of the turns of all other sessions, and of entries that clients wrote. MaxTurns is the
	// maximum number of turns per session. The newest turn always stays.
	Turns    time.Duration
	MaxTurns int
	// InUse reports whether a job still needs the turns of a session; nil means never.
	InUse func(ctx context.Context, q database.Querier, sessionID string) (bool, error)
}

// maxTombstones is the number of tombstones of deleted sessions to keep, regardless of age. A runtime may still have a
// conversation that it was asked to delete; the tombstone prevents its import.
const maxTombstones = 1_000_000

// usageKept is how long the usage of a day is kept.
const usageKept = 365 * 24 * time.Hour

// Prune removes the rows that the policy no longer keeps, in small transactions. It reports the removed rows by kind.
func Prune(ctx context.Context, j *journal.Journal, db *database.DB, now time.Time, keep Policy,
	pruned func(kind string, rows int64)) error {
	p := pruner{Pruner: journal.Pruner{Journal: j, Now: now, Pruned: pruned}, db: db, keep: keep, at: now.UnixMilli()}
	for _, one := range []func(context.Context) error{p.requests, p.rolledBack, p.archived, p.turns, p.spools, p.messageKeys, p.gone} {
		if err := one(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pruner is one run of Prune.
type pruner struct {
	journal.Pruner
	db      *database.DB
	entries transcript.Store
	keep    Policy
	at      int64 // ms
}

// before returns the time (ms) one age ago, 0 if age is 0.
func (p pruner) before(age time.Duration) int64 {
	if age == 0 {
		return 0
	}
	return p.at - age.Milliseconds()
}

// report counts the rows that a sweep removed.
func (p pruner) report(kind string, rows int64, err error) error {
	if rows > 0 {
		p.Pruned(kind, rows)
	}
	return err
}

// requests prunes settled requests, except those of a running turn.
func (p pruner) requests(ctx context.Context) error {
	return p.Ended(ctx, journal.Retention{Age: p.keep.Records, Max: p.keep.MaxRecords}, journal.Ended{
		Table: "interactive_requests", Key: "id", At: "settled_at", Over: `status <> 'pending'`,
		Only: `not exists (select 1 from turns t where t.session_id = interactive_requests.session_id and
			t.turn_id = interactive_requests.turn_id and t.status = 'inProgress')`})
}

// spools prunes the offsets of processes that exited long ago, including those of dead nodes.
func (p pruner) spools(ctx context.Context) error {
	return p.Rows(ctx, "runtime_spools", "generation", `ended = 1 and updated_at < $1`, p.at-store.SpoolsKept)
}

// gone prunes tombstones and other rows of deleted sessions.
func (p pruner) gone(ctx context.Context) error {
	err := p.Ended(ctx, journal.Retention{Max: maxTombstones},
		journal.Ended{Table: "deleted_sessions", Key: "session_id", At: "deleted_at", Over: "deleted_at > 0"})
	if err != nil {
		return err
	}
	for _, table := range []string{"usage_days", "model_usage"} {
		if err := p.Rows(ctx, table, "day", `day < $1`, p.at-usageKept.Milliseconds()); err != nil {
			return err
		}
	}
	// A moved workspace is needed while its former node still owns sessions in it.
	if err := p.Rows(ctx, "moved_folders", "node_id || ' ' || folder", `not exists (select 1 from sessions s
			where s.node_id = moved_folders.node_id and
			substr(s.cwd || '/', 1, length(moved_folders.folder) + 1) = moved_folders.folder || '/')`); err != nil {
		return err
	}
	rows, err := p.Journal.SweepSequences(ctx, `not exists (select 1 from sessions where id = journal_sequences.session_id)`)
	return p.report("journal_sequences", rows, err)
}

// sweepSession repeats a removal in a session until nothing is removed. find reports whether rows remain, without
// blocking writers.
func (p pruner) sweepSession(ctx context.Context, kind, sessionID string,
	find func(ctx context.Context, q database.Querier) (bool, error),
	remove func(ctx context.Context, tx database.Tx) (int64, error)) error {
	rows, err := p.Journal.Sweep(ctx, func(ctx context.Context, q database.Querier, _ int) ([]any, error) {
		if there, err := find(ctx, q); err != nil || !there {
			return nil, err
		}
		return []any{sessionID}, nil
	}, func(ctx context.Context, tx database.Tx, _ []any) (int64, []journal.Event, error) {
		rows, err := remove(ctx, tx)
		if err != nil || rows == 0 {
			return 0, nil, err
		}
		return rows, []journal.Event{transcriptPruned(sessionID, kind, rows, p.at)}, nil
	})
	if err != nil {
		err = fmt.Errorf("prune session %s: %w", sessionID, err)
	}
	return p.report(kind, rows, err)
}

// transcriptPruned is the event for entries removed from a session's transcript: earlier reads of it are out of date.
// Clients get no frame.
func transcriptPruned(sessionID, kind string, rows, at int64) journal.Event {
	return journal.Event{SessionID: sessionID, Type: session.EventTranscriptPruned, Time: at, Source: session.EventSource,
		Payload: javascript.MustEncode(struct {
			Kind string `json:"kind"`
			Rows int64  `json:"rows"`
		}{kind, rows})}
}
