package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// errOvertaken means that the journal changed after the archiver read it.
var errOvertaken = errors.New("the range was archived, or events of it were redacted, meanwhile")

// storePatience is the age at which clean deletes an object that has no range.
const storePatience = time.Hour

// put stores an object and verifies it, because its events are about to be pruned. The object counts as garbage until
// keep.
func (a *Archiver) put(ctx context.Context, o *object) (Range, error) {
	r, err := o.end()
	if err != nil {
		return r, err
	}
	due := a.opts.Now().Add(storePatience).UnixMilli()
	if err := a.opts.Journal.NoteArchived(ctx, func(ctx context.Context, tx database.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into journal_archive_garbage (name, due_at) values ($1, $2)`, r.Name(), due)
		return err
	}); err != nil {
		return r, fmt.Errorf("note an object of the archive: %w", err)
	}
	if err := a.opts.Files.Put(ctx, r.Name(), o.content.Bytes()); err != nil {
		return r, err
	}
	return r, Read(ctx, a.opts.Files, r, func(*Line) error { return nil })
}

// keep makes an object the one of its range. It returns errOvertaken if the object is being removed.
func keep(ctx context.Context, tx database.Tx, r Range) error {
	result, err := tx.ExecContext(ctx, `delete from journal_archive_garbage where name = $1 and due_at > 0`, r.Name())
	if err != nil {
		return fmt.Errorf("keep an object of the archive: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return errOvertaken
}

// discard schedules an unneeded object for deletion.
func (a *Archiver) discard(ctx context.Context, r Range) error {
	return a.opts.Journal.NoteArchived(ctx, func(ctx context.Context, tx database.Tx) error {
		_, err := tx.ExecContext(ctx, `update journal_archive_garbage set due_at = 1 where name = $1 and due_at > 0`, r.Name())
		return err
	})
}

// clean removes the objects that belong to no range and are due.
func (a *Archiver) clean(ctx context.Context) error {
	now := a.opts.Now().UnixMilli()
	names, err := database.ReadTexts(ctx, a.opts.DB.Read(), "find objects of no range",
		`select name from journal_archive_garbage where due_at <= $1 order by name`, now)
	if err != nil {
		return err
	}
	for _, name := range names {
		change := func(query string) error {
			return a.opts.Journal.NoteArchived(ctx, func(ctx context.Context, tx database.Tx) error {
				_, err := tx.ExecContext(ctx, query, name)
				return err
			})
		}
		// No row refers to the object from here on.
		if err := change(`update journal_archive_garbage set due_at = 0 where name = $1`); err != nil {
			return err
		}
		var gone int
		if err := a.opts.DB.Read().QueryRowContext(ctx, `select count(*) from journal_archive_garbage where name = $1`, name).Scan(
			&gone); err != nil || gone == 0 {
			return err // another process kept or removed it
		}
		if err := a.opts.Files.Remove(ctx, name); err != nil {
			return err
		}
		if err := change(`delete from journal_archive_garbage where name = $1`); err != nil {
			return err
		}
	}
	return nil
}

// store stores a range and records it.
func (a *Archiver) store(ctx context.Context, closed *object) error {
	r, err := a.put(ctx, closed)
	if err != nil {
		return err
	}
	bytes := int64(closed.content.Len())
	err = a.opts.Journal.NoteArchived(ctx, func(ctx context.Context, tx database.Tx) error {
		below, err := journal.ArchivedBelow(ctx, tx)
		if err != nil {
			return err
		}
		var redacted int
		if err := tx.QueryRowContext(ctx, `select count(*) from journal_events where pos >= $1 and pos <= $2 and type = $3`,
			r.From, r.To, journal.EventRedacted).Scan(&redacted); err != nil {
			return fmt.Errorf("find redacted events: %w", err)
		}
		if below != r.From || redacted != closed.redacted {
			return errOvertaken
		}
		if err := keep(ctx, tx, r); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `insert into journal_archives (first_pos, next_pos, name, bytes, stored_at)
			values ($1, $2, $3, $4, $5)`, r.From, r.To+1, r.Name(), bytes, a.opts.Now().UnixMilli()); err != nil {
			return fmt.Errorf("note a range of the archive: %w", err)
		}
		for session := range closed.sessions {
			if _, err := tx.ExecContext(ctx, `insert into journal_archive_sessions (session_id, first_pos) values ($1, $2)`,
				session, r.From); err != nil {
				return fmt.Errorf("note a session of the archive: %w", err)
			}
		}
		return nil
	})
	if errors.Is(err, errOvertaken) {
		return cmp.Or(a.discard(ctx, r), err)
	}
	if err != nil {
		return err
	}
	a.opts.Stored(r.To-r.From+1, bytes)
	a.opts.Logger.Info().Int64("from", r.From).Int64("to", r.To).Int64("bytes", bytes).Msg("archived events of the journal")
	return nil
}
