// Package database opens the store: SQLite in the data directory by default, Postgres when a URL is configured, both
// behind one SQL text.
//
// It owns connections, transactions and the few statements that differ between the engines. It must never know a table:
// every domain package owns its own SQL. That SQL uses $n placeholders, text ids, bigint milliseconds and JSON as text,
// so that it runs on both engines.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrCommit wraps a failed COMMIT. If the connection broke during it, the transaction may nevertheless be committed.
var ErrCommit = errors.New("commit failed")

// Querier runs queries; *sql.DB, *sql.Tx and *sql.Conn implement it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx is a write transaction. It is invalid after its function returns.
type Tx interface {
	Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Engine names the database behind a DB.
type Engine string

// The engines.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// DB is an open store. Writes go through Update, reads through Read; on SQLite these are one writer connection and a
// pool of readers.
type DB struct {
	engine Engine
	write  *sql.DB
	read   *sql.DB
	raw    *sql.DB
	// lost counts transactions since the last commit during which Postgres ended the connection.
	lost atomic.Int32
	// writer belongs to SQLite, and reads holds the prepared statements of its readers. Both are nil on Postgres, whose
	// driver has its own.
	writer *writer
	reads  *statements
	// watchdog watches the connections to Postgres, nil on SQLite.
	watchdog *connWatchdog
	// checkpoints is nil on Postgres.
	checkpoints *checkpointer
}

// Engine returns the kind of database, for the few statements that differ.
func (db *DB) Engine() Engine { return db.engine }

// Read returns the pool for reads outside a transaction. A read sees every write committed before it began.
func (db *DB) Read() Querier {
	if db.reads != nil {
		return reader{db.reads}
	}
	return db.read
}

// Raw returns a *sql.DB for tools that need one (migrations). On SQLite it has one connection separate from the
// writer's, on Postgres connections without timeouts. Never use it inside Update: SQLite has one write lock.
func (db *DB) Raw() *sql.DB { return db.raw }

// Update runs fn in one write transaction and commits it. It returns fn's error after a rollback, or the commit's
// error. If ctx ends before the commit starts, nothing is committed. On SQLite the transaction is immediate, so fn
// never fails halfway for lack of the write lock. fn must close its rows.
func (db *DB) Update(ctx context.Context, fn func(tx Tx) error) error {
	if db.writer != nil {
		committed, err := db.updateSQLite(ctx, fn)
		if err != nil {
			return err
		}
		return committed.Synced(context.WithoutCancel(ctx))
	}
	_, err := db.updatePostgres(ctx, "", func(tx Tx, _ []int64) (Last, error) { return Last{}, fn(tx) })
	return err
}

func (db *DB) updateSQLite(ctx context.Context, fn func(tx Tx) error) (Committed, error) {
	committed, bytes, err := db.writer.update(ctx, fn)
	if err == nil {
		db.checkpoints.committed(bytes)
	}
	return committed, err
}

// Last is the last statement of a transaction. Row, which may be nil, gets each row of its answer, possibly before the
// commit is certain.
type Last struct {
	Query string
	Args  []any
	Row   func(row interface{ Scan(dest ...any) error }) error
	// Early makes Postgres release the locks before the commit is durable; the call still waits for durability. Waiters
	// for the locks continue in the meantime, and others may see data that a loss of the server then removes. It is
	// only for callers that can check afterwards whether the transaction exists.
	Early bool
}

// UpdateHolding is Update for a transaction that others wait for. It first runs hold, a query without parameters that
// locks what they wait for. hold returns one row of numbers (one number on SQLite), which UpdateHolding passes to fn.
// If hold is "", fn takes the lock itself. fn may return a last statement to run with the commit. On Postgres neither
// costs a separate round trip. Statements of a Bulk may be sent later than they are made; a later statement then
// returns their error.
//
// Unlike Update it returns before a SQLite commit survives a loss of power, so that the next transaction may start.
// Publish its effects only after Committed.Synced. Reads that see the commit also wait for that.
func (db *DB) UpdateHolding(ctx context.Context, hold string, fn func(tx Tx, held []int64) (Last, error)) (
	Committed, error) {
	if db.engine == Postgres {
		return db.updatePostgres(ctx, hold, fn)
	}
	return db.updateSQLite(ctx, func(tx Tx) error {
		var held []int64
		if hold != "" {
			held = make([]int64, 1)
			if err := tx.QueryRowContext(ctx, hold).Scan(&held[0]); err != nil {
				return err
			}
		}
		last, err := fn(tx, held)
		if err != nil || last.Query == "" {
			return err
		}
		rows, err := tx.QueryContext(ctx, last.Query, last.Args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() && err == nil && last.Row != nil {
			err = last.Row(rows)
		}
		return errors.Join(err, rows.Err())
	})
}

// Ping checks that the store answers.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.read.PingContext(ctx); err != nil {
		return fmt.Errorf("database does not answer: %w", err)
	}
	return nil
}

// Close closes both pools. Calling it twice is allowed.
func (db *DB) Close() error {
	if db.writer == nil { // several may be the same pool
		err := errors.Join(db.write.Close(), db.read.Close(), db.raw.Close())
		if db.watchdog != nil {
			db.watchdog.close()
		}
		return err
	}
	return errors.Join(db.checkpoints.close(), db.read.Close(), db.raw.Close(), db.writer.close())
}
