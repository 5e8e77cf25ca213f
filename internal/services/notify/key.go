package notify

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// Key returns a key of this store, generated on first use. All servers of the store share it.
func Key(ctx context.Context, db *database.DB, name string, fresh func() string) (key string, err error) {
	err = db.Update(ctx, func(tx database.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into notify_keys (name, key) values ($1, $2) on conflict (name) do nothing`, name,
			fresh())
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `select key from notify_keys where name = $1`, name).Scan(&key)
	})
	if err != nil {
		return "", fmt.Errorf("read the key %s: %w", name, err)
	}
	return key, nil
}
