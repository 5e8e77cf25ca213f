package manager

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// notArchivedAsNoted selects sessions of which it is not noted since when they are archived, or no longer. They became
// so by any of several ways: a client's, another node's, the runtime's own.
const notArchivedAsNoted = `select id from sessions where ((archived = 1 and archived_at = 0) or (archived = 0 and archived_at <> 0))`

// archived prunes what was said in sessions that have been archived for long, or are not among the newest archived
// ones.
func (p pruner) archived(ctx context.Context) error {
	if p.keep.Archived == 0 && p.keep.MaxArchived == 0 {
		return nil
	}
	ids, err := database.ReadTexts(ctx, p.db.Read(), "look for sessions that were archived", notArchivedAsNoted)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := p.noteArchived(ctx, id); err != nil {
			return err
		}
	}
	// One that was emptied before has nothing left; one in which a turn runs is not touched.
	ids, err = database.ReadTexts(ctx, p.db.Read(), "look for sessions archived long ago",
		`select id from (select id, archived_at, row_number() over (order by archived_at desc, updated_at desc, id desc)
		as place from sessions where archived = 1) s where (archived_at < $1 or ($2 > 0 and place > $2)) and (`+
			entriesOrTurns+`)`,
		p.before(p.keep.Archived), int64(p.keep.MaxArchived))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := p.empty(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

const entriesOrTurns = `(exists (select 1 from transcript_entries e where e.session_id = s.id) or exists (select 1
	from turns t where t.session_id = s.id))
	and not exists (select 1 from turns t where t.session_id = s.id and t.status = 'inProgress')`

func (p pruner) noteArchived(ctx context.Context, sessionID string) error {
	return p.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, updateSession(ctx, tx, sessionID, `archived_at = archived * $2`, p.at)
	})
}

// empty removes what was said in a session, unless it is archived no longer or a turn runs in it. Its history counts as
// not taken in.
func (p pruner) empty(ctx context.Context, sessionID string) error {
	key := database.EncodeText(sessionID)
	look := func(ctx context.Context, q database.Querier) (bool, error) {
		found, err := database.ReadTexts(ctx, q, "look at archived session "+sessionID,
			`select id from sessions s where id = $1 and archived = 1 and `+entriesOrTurns, key)
		return len(found) > 0, err
	}
	return p.sweepSession(ctx, "archived_transcripts", sessionID, look,
		func(ctx context.Context, tx database.Tx) (int64, error) {
			if there, err := look(ctx, tx); err != nil || !there {
				return 0, err
			}
			if rows, err := p.entries.DeleteOldest(ctx, tx, sessionID, pruneEntries); err != nil || rows > 0 {
				return rows, err
			}
			if err := p.entries.Delete(ctx, tx, sessionID); err != nil {
				return 0, err
			}
			if err := forgetFolder(ctx, tx, sessionID); err != nil {
				return 0, err
			}
			for _, statement := range []string{`delete from turns where session_id = $1`,
				`delete from runtime_messages where session_id = $1`,
				`delete from session_custody where session_id = $1`,
				`delete from session_memory where session_id = $1`,
				`update sessions set history_at = 0 where id = $1`} {
				if _, err := tx.ExecContext(ctx, statement, key); err != nil {
					return 0, fmt.Errorf("empty session %s: %w", sessionID, err)
				}
			}
			return 0, nil
		})
}
