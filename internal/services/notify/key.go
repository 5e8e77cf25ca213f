package notify

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// Key is a key of this store, made when it is asked for the first time. All servers of the store have the same.
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
