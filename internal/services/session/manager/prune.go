package manager

import (
	"context"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Retention is how long, and how much of, what is over is kept; 0 keeps all. What goes first is the oldest.
type Retention struct {
	// Records is the age, MaxRecords the number of requests that are settled. Turns that were rolled back, and those of
	// workers' sessions, go by the age alone.
	Records    time.Duration
	MaxRecords int
	// Archived is for how long a session has been archived, and MaxArchived how many archived sessions, until what was
	// said in it goes. The session stays; what its runtime still has of it is taken in again when it is read.
	Archived    time.Duration
	MaxArchived int
	// Turns is the age of the turns of all other sessions, and of what clients wrote to them; MaxTurns is how many turns a
	// session keeps. The newest one always stays.
	Turns    time.Duration
	MaxTurns int
	// InUse tells of a session whose turns are counted on by somebody just now; nil for none.
	InUse func(ctx context.Context, q database.Querier, sessionID string) (bool, error)
}

// maxTombstones is how many deleted sessions are remembered as such. They are kept by number alone: a runtime may have
// kept what it was told to delete, and it is their tombstones that keep such conversations from coming back.
const maxTombstones = 1_000_000

// usageKept is how long it is kept what sessions used on a day.
const usageKept = 365 * 24 * time.Hour

// Prune removes what a retention keeps no longer, in small transactions, and tells pruned of what went by kind.
func (s *Service) Prune(ctx context.Context, keep Retention, pruned func(kind string, rows int64)) error {
	p := pruner{s, journal.Pruner{Journal: s.journal, Now: s.opts.Clock(), Pruned: pruned}, keep, s.now()}
	for _, one := range []func(context.Context) error{p.requests, p.rolledBack, p.archived, p.turns, p.spools, p.messageKeys, p.gone} {
		if err := one(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pruner is one run of Prune.
type pruner struct {
	*Service
	journal.Pruner
	keep Retention
	at   int64
}

// before is the time (ms) that is an age ago, 0 for no age.
func (p pruner) before(age time.Duration) int64 {
	if age == 0 {
		return 0
	}
	return p.at - age.Milliseconds()
}

// tell passes on what a sweep came to.
func (p pruner) tell(kind string, rows int64, err error) error {
	if rows > 0 {
		p.Pruned(kind, rows)
	}
	return err
}

// requests prunes those that are settled, unless the turn that asked still runs.
func (p pruner) requests(ctx context.Context) error {
	return p.Ended(ctx, journal.Retention{Age: p.keep.Records, Max: p.keep.MaxRecords}, journal.Ended{
		Table: "interactive_requests", Key: "id", At: "settled_at", Over: `status <> 'pending'`,
		Only: `not exists (select 1 from turns t where t.session_id = interactive_requests.session_id and
			t.turn_id = interactive_requests.turn_id and t.status = 'inProgress')`})
}

// spools prunes the positions of runtime processes that ended long ago, also those of nodes that did not come back.
func (p pruner) spools(ctx context.Context) error {
	return p.Rows(ctx, "runtime_spools", "generation", `ended = 1 and updated_at < $1`, p.at-spoolKept)
}

// gone prunes what is remembered of sessions that are gone.
func (p pruner) gone(ctx context.Context) error {
	err := p.Ended(ctx, journal.Retention{Max: maxTombstones},
		journal.Ended{Table: "deleted_sessions", Key: "session_id", At: "deleted_at", Over: "deleted_at > 0"})
	if err != nil {
		return err
	}
	if err := p.Rows(ctx, "usage_days", "day", `day < $1`, p.at-usageKept.Milliseconds()); err != nil {
		return err
	}
	// Where a folder went on is asked for the sessions that its lost node still has in it.
	if err := p.Rows(ctx, "moved_folders", "node_id || ' ' || folder", `not exists (select 1 from sessions s
			where s.node_id = moved_folders.node_id and
			substr(s.cwd || '/', 1, length(moved_folders.folder) + 1) = moved_folders.folder || '/')`); err != nil {
		return err
	}
	rows, err := p.journal.SweepSequences(ctx, `not exists (select 1 from sessions where id = journal_sequences.session_id)`)
	return p.tell("journal_sequences", rows, err)
}

// sweepSession runs a removal in a session until it removes nothing. look tells, without holding up who writes, that
// there is something.
func (p pruner) sweepSession(ctx context.Context, kind, sessionID string,
	look func(ctx context.Context, q database.Querier) (bool, error),
	remove func(ctx context.Context, tx database.Tx) (int64, error)) error {
	rows, err := p.journal.Sweep(ctx, func(ctx context.Context, q database.Querier, _ int) ([]any, error) {
		if there, err := look(ctx, q); err != nil || !there {
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
	return p.tell(kind, rows, err)
}
