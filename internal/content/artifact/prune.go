package artifact

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Prune deletes the artifacts of deleted sessions, a few at a time, and the bytes without another reference. removed
// counts the rows.
func (s *Store) Prune(ctx context.Context) (removed int64, err error) {
	const most = 100
	for {
		left, err := database.ReadTexts(ctx, s.opts.DB.Read(), "read the artifacts of sessions that are gone",
			`select id from artifacts
			where session_id <> '' and not exists (select 1 from sessions where id = artifacts.session_id) limit $1`, most)
		if err != nil || len(left) == 0 {
			return removed, err
		}
		for _, id := range left {
			if err := s.Remove(ctx, id); err != nil {
				return removed, err
			}
			removed++
		}
	}
}

// Remove deletes an artifact, and its bytes if no other artifact refers to them. A missing one is no error.
func (s *Store) Remove(ctx context.Context, id string) error {
	var hash string
	_, err := s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		found, err := database.ReadTexts(ctx, tx, "read artifact "+id, `select hash from artifacts where id = $1`, id)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		hash = found[0]
		if _, err := tx.ExecContext(ctx, `delete from artifacts where id = $1`, id); err != nil {
			return nil, fmt.Errorf("remove artifact %s: %w", id, err)
		}
		return nil, nil
	})
	if err != nil || hash == "" {
		return err
	}
	return s.dropUnused(ctx, hash)
}

// dropUnused removes an unreferenced content. It runs after the commit that released the content, so a failed
// transaction loses nothing. A concurrent store of the same content is in a transaction before or after this one, and
// checks whether the content exists.
func (s *Store) dropUnused(ctx context.Context, hash string) error {
	_, err := s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var used int64
		if err := tx.QueryRowContext(ctx, `select count(*) from artifacts where hash = $1`, hash).Scan(&used); err != nil {
			return nil, fmt.Errorf("count the references to the bytes %s: %w", hash, err)
		}
		if used > 0 {
			return nil, nil
		}
		return nil, s.bytes.drop(ctx, tx, hash)
	})
	return err
}
