package database

import (
	"context"
	"errors"
	"fmt"
)

// Load runs fn in one write transaction and commits it, however long that takes. It is for a whole store at once, while
// no other process uses it.
func (db *DB) Load(ctx context.Context, fn func(tx Tx) error) (err error) {
	if db.engine == SQLite {
		tx, err := db.raw.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("begin transaction: %w", err)
		}
		if err := fn(tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("%w: %w", ErrCommit, err)
		}
		return nil
	}
	conn, err := db.raw.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "begin"); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	tx := &postgresTx{conn: conn}
	if err := fn(tx); err != nil {
		tx.rollback(ctx)
		return err
	}
	return tx.commit(ctx, Last{})
}
