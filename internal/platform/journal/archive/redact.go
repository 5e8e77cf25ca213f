package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"harness/internal/platform/database"
)

// redact replaces the objects that contain events of permanently deleted sessions.
func (a *Archiver) redact(ctx context.Context) error {
	names, err := database.ReadTexts(ctx, a.opts.DB.Read(), "find what is to be redacted in the archive",
		`select name from journal_archives where first_pos in (select first_pos from journal_archive_sessions where deleted = 1)
		order by first_pos`)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := a.rewrite(ctx, name); err != nil {
			return fmt.Errorf("redact deleted sessions in the archive: %w", err)
		}
	}
	return nil
}

// rewrite stores a range again, without the events of its deleted sessions.
func (a *Archiver) rewrite(ctx context.Context, name string) error {
	old, is := parse(name)
	if !is {
		return fmt.Errorf("%s is not the name of a range", name)
	}
	sessions, err := database.ReadTexts(ctx, a.opts.DB.Read(), "find whose events are to be redacted",
		`select session_id from journal_archive_sessions where first_pos = $1 and deleted = 1`, old.From)
	if err != nil {
		return err
	}
	deleted := make(map[string]bool, len(sessions))
	for _, session := range sessions {
		deleted[session] = true
	}
	fresh, err := newObject(old.From)
	if err != nil {
		return err
	}
	err = Read(ctx, a.opts.Files, old, func(line *Line) error {
		if deleted[line.Record.SessionID] {
			left := line.Record.Redacted()
			return fresh.add(&left)
		}
		return fresh.write(&line.Record, line)
	})
	if errors.Is(err, fs.ErrNotExist) { // another process has removed it
		return a.opts.Journal.NoteArchived(ctx, func(ctx context.Context, tx database.Tx) error {
			_, err := tx.ExecContext(ctx, `delete from journal_archive_sessions where first_pos = $1`, old.From)
			return err
		})
	}
	if err != nil {
		return err
	}
	r, err := a.put(ctx, fresh)
	if err != nil {
		return err
	}
	err = a.replace(ctx, name, r, int64(fresh.content.Len()), sessions)
	if errors.Is(err, errOvertaken) {
		return a.discard(ctx, r)
	}
	if err != nil {
		return err
	}
	a.opts.Logger.Info().Int64("from", r.From).Int64("to", r.To).Int("sessions", len(deleted)).
		Msg("redacted deleted sessions in the archive")
	return nil
}

// replace records a redacted range in place of the old one; the old range's object becomes garbage.
func (a *Archiver) replace(ctx context.Context, old string, r Range, bytes int64, deleted []string) error {
	return a.opts.Journal.NoteArchived(ctx, func(ctx context.Context, tx database.Tx) error {
		result, err := tx.ExecContext(ctx, `update journal_archives set name = $2, bytes = $3 where name = $1`, old, r.Name(), bytes)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errOvertaken) // another process was first
		}
		if err := keep(ctx, tx, r); err != nil {
			return err
		}
		for _, session := range deleted {
			if _, err := tx.ExecContext(ctx, `delete from journal_archive_sessions where first_pos = $1 and session_id = $2`,
				r.From, session); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `insert into journal_archive_garbage (name, due_at) values ($1, 1)`, old)
		return err
	})
}
