package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"harness/internal/platform/database"
)

// Renew rebuilds the index after a write without an event.
func Renew(ctx context.Context, tx database.Tx) error {
	if _, err := tx.ExecContext(ctx, `update search_state set pos = -1 where id = 1`); err != nil {
		return fmt.Errorf("restart the search index: %w", err)
	}
	return nil
}

// forgets reports whether the step may leave words of removed entries in the index.
func (c *changes) forgets() bool {
	return c.all || len(c.swept) > 0 || slices.ContainsFunc(c.documents, func(d document) bool { return d.gone })
}

func (c *changes) write(ctx context.Context, tx database.Tx, engine database.Engine) error {
	w := writer{tx, engine}
	if c.forgets() {
		if _, err := tx.ExecContext(ctx, `update search_state set unclean = 1 where id = 1`); err != nil {
			return err
		}
	}
	if c.all {
		if err := w.forget(ctx, `1 = 1`); err != nil {
			return err
		}
	}
	for _, session := range c.swept {
		err := w.forget(ctx, `session = $1 and message <> '' and not exists (select 1 from transcript_entries e
			where e.session_id = search_documents.session and e.message_id = search_documents.message)`, session)
		if err != nil {
			return err
		}
	}
	for _, d := range c.documents {
		var err error
		switch {
		case d.gone:
			err = w.forget(ctx, `session = $1 and message = $2`, d.session, d.message)
		case engine == database.SQLite:
			err = w.lite(ctx, d)
		default:
			err = w.postgres(ctx, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type writer struct {
	tx     database.Tx
	engine database.Engine
}

func (w writer) forget(ctx context.Context, which string, args ...any) error {
	if w.engine == database.SQLite {
		_, err := w.tx.ExecContext(ctx,
			`delete from search_words where rowid in (select id from search_documents where `+which+`)`, args...)
		if err != nil {
			return err
		}
	}
	_, err := w.tx.ExecContext(ctx, `delete from search_documents where `+which, args...)
	return err
}

func (w writer) lite(ctx context.Context, d document) error {
	var id int64
	err := w.tx.QueryRowContext(ctx, `insert into search_documents (session, message) values ($1, $2)
		on conflict (session, message) do update set session = excluded.session returning id`, d.session, d.message).Scan(&id)
	if err == nil {
		_, err = w.tx.ExecContext(ctx, `delete from search_words where rowid = $1`, id)
	}
	if err == nil {
		_, err = w.tx.ExecContext(ctx, `insert into search_words (rowid, words) values ($1, $2)`, id,
			strings.Join(d.words, " "))
	}
	return err
}

// postgres stores the words as parsed here: Postgres splits texts into words differently than SQLite.
func (w writer) postgres(ctx context.Context, d document) error {
	_, err := w.tx.ExecContext(ctx, `insert into search_documents (session, message, words)
		values ($1, $2, array_to_tsvector(string_to_array($3, ' ')))
		on conflict (session, message) do update set words = excluded.words`, d.session, d.message,
		strings.Join(d.words, " "))
	return err
}
