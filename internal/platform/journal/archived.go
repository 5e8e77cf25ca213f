package journal

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// ArchivedBelow returns the position below which an archive has all events since archiving started. Without an archived
// range it is the position of the oldest stored event.
func ArchivedBelow(ctx context.Context, q database.Querier) (below int64, err error) {
	err = q.QueryRowContext(ctx, `select case when archived > oldest then archived else oldest end from (select oldest,
		coalesce((select max(next_pos) from journal_archives), 0) as archived from journal_head where id = 1) as bounds`).Scan(&below)
	if err != nil {
		return 0, fmt.Errorf("read what is archived of the journal: %w", err)
	}
	return below, nil
}

// NoteArchived changes the record of the archive in one transaction that holds the head's lock, so no event is
// appended, pruned or redacted during it.
func (j *Journal) NoteArchived(ctx context.Context, note func(ctx context.Context, tx database.Tx) error) error {
	return j.db.Update(ctx, func(tx database.Tx) error {
		if _, err := j.lockHead(ctx, tx); err != nil {
			return err
		}
		return note(ctx, tx)
	})
}
