package journal

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

type readingKey struct{}

// Reading returns a context that tracks reads of rows, for Settled to wait for. Without Options.Barrier it is ctx
// itself.
func (r *reader) Reading(ctx context.Context) context.Context {
	if r.barrier == nil {
		return ctx
	}
	ctx, read := database.NoteServers(ctx)
	return context.WithValue(ctx, readingKey{}, read)
}

// Settled returns when everything read with a context of Reading, or with one derived from it, may be shown: once it
// survives what a commit survives. It fails with an error that is database.Refused in two cases. One is that the wait
// takes longer than the context is Patient for. The other is that the reads went to several servers, one of which may
// have lost the rows it showed.
func (r *reader) Settled(ctx context.Context) error {
	read, _ := ctx.Value(readingKey{}).(*database.Servers)
	if read == nil || !read.Asked() {
		return nil
	}
	waiting := ctx
	if limit, bounded := limitOf(ctx); bounded {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err := r.settledUpTo(waiting, func(q database.Querier) (head headState, err error) {
		if err := read.Only(q.(database.Conn).Server()); err != nil {
			return head, err
		}
		var standby bool
		err = q.QueryRowContext(waiting, `select pos, eventless, pg_is_in_recovery() from journal_head where id = 1`).
			Scan(&head.pos, &head.eventless, &standby)
		if err != nil {
			return head, fmt.Errorf("read the journal head: %w", err)
		}
		if standby {
			return headState{}, nil // the loss of the primary cannot lose it
		}
		return head, nil
	})
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return errors.Join(database.ErrUnsettled, err)
	}
	return err
}
