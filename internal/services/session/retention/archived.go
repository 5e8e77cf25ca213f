package retention

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session/store"
)

// archivedAtStale selects sessions whose archived_at does not match archived. A client, another node or the runtime may
// have changed archived.
const archivedAtStale = `select id from sessions where ((archived = 1 and archived_at = 0) or (archived = 0 and archived_at <> 0))`

// archived prunes the transcripts of sessions archived long ago, or not among the newest archived ones.
func (p pruner) archived(ctx context.Context) error {
	if p.keep.Archived == 0 && p.keep.MaxArchived == 0 {
		return nil
	}
	ids, err := database.ReadTexts(ctx, p.db.Read(), "find sessions that were archived", archivedAtStale)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := p.storeArchivedAt(ctx, id); err != nil {
			return err
		}
	}
	// Sessions without entries and turns need no pruning. Skip sessions with a running turn.
	ids, err = database.ReadTexts(ctx, p.db.Read(), "find sessions archived long ago",
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

func (p pruner) storeArchivedAt(ctx context.Context, sessionID string) error {
	_, err := p.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, store.UpdateSession(ctx, tx, sessionID, `archived_at = archived * $2`, p.at)
	})
	return err
}

// empty removes the transcript of a session that is still archived and has no running turn. Its history then counts as
// not imported.
func (p pruner) empty(ctx context.Context, sessionID string) error {
	key := database.EncodeText(sessionID)
	find := func(ctx context.Context, q database.Querier) (bool, error) {
		found, err := database.ReadTexts(ctx, q, "read archived session "+sessionID,
			`select id from sessions s where id = $1 and archived = 1 and `+entriesOrTurns, key)
		return len(found) > 0, err
	}
	return p.sweepSession(ctx, "archived_transcripts", sessionID, find,
		func(ctx context.Context, tx database.Tx) (int64, error) {
			if there, err := find(ctx, tx); err != nil || !there {
				return 0, err
			}
			if rows, err := p.entries.DeleteOldest(ctx, tx, sessionID, EntriesPerUnit); err != nil || rows > 0 {
				return rows, err
			}
			if err := p.entries.Delete(ctx, tx, sessionID); err != nil {
				return 0, err
			}
			if err := store.MarkWorkspaceUnneeded(ctx, tx, sessionID); err != nil {
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
