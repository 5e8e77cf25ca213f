package artifact

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// partBytes is the size of one row's part of a content: binding a text needs several times its size in memory.
const partBytes = 768 << 10

// rows stores contents in the database.
type rows struct{ db *database.DB }

func (r *rows) put(_ context.Context, hash string, content []byte) (journal.Unit, error) {
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var there int
		if err := tx.QueryRowContext(ctx, `select count(*) from artifact_parts where hash = $1 and number = 0`, hash).
			Scan(&there); err != nil {
			return nil, fmt.Errorf("find the bytes %s: %w", hash, err)
		}
		if there > 0 {
			return nil, nil
		}
		return nil, InsertParts(ctx, tx, hash, content)
	}, nil
}

// InsertParts stores a new content as rows of artifact_parts; hash is sha256 in hex.
func InsertParts(ctx context.Context, tx database.Tx, hash string, content []byte) error {
	for number, left := 0, content; number == 0 || len(left) > 0; number++ {
		part := left[:min(len(left), partBytes)]
		left = left[len(part):]
		_, err := tx.ExecContext(ctx, `insert into artifact_parts (hash, number, part) values ($1, $2, $3)`, hash, number,
			base64.StdEncoding.EncodeToString(part))
		if err != nil {
			return fmt.Errorf("store the bytes %s: %w", hash, err)
		}
	}
	return nil
}

func (r *rows) open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error) {
	content, found := make([]byte, 0, size), false
	err := database.ReadEach(ctx, r.db.Read(), "read the bytes "+hash, func(row database.Row) error {
		var part string
		if err := row.Scan(&part); err != nil {
			return err
		}
		found = true
		decoded, err := base64.StdEncoding.DecodeString(part)
		content = append(content, decoded...)
		return err
	}, `select part from artifact_parts where hash = $1 order by number`, hash)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrNotFound
	}
	return noClose{bytes.NewReader(content)}, nil
}

type noClose struct{ *bytes.Reader }

func (noClose) Close() error { return nil }

func (r *rows) drop(ctx context.Context, tx database.Tx, hash string) error {
	if _, err := tx.ExecContext(ctx, `delete from artifact_parts where hash = $1`, hash); err != nil {
		return fmt.Errorf("remove the bytes %s: %w", hash, err)
	}
	return nil
}
