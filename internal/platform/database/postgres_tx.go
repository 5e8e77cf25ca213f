package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresTx is a writing Postgres transaction. Every statement is a round trip during which others wait for its locks.
// So statements whose answer is not needed are sent later, together.
type postgresTx struct {
	conn  *sql.Conn
	later []statement
	// failed is the first error of the statements sent later; the statements after it only report a failed transaction.
	failed error
}

type statement struct {
	text string
	args []any
}

// updatePostgres is UpdateHolding.
func (db *DB) updatePostgres(ctx context.Context, hold string, fn func(tx Tx, held []int64) (Last, error)) (
	done Committed, err error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return done, fmt.Errorf("begin transaction: %w", err)
	}
	tx := &postgresTx{conn: conn}
	own := tx.monitored()
	committed := false
	defer func() {
		if err != nil && own != nil && own.cut.Load() {
			err = errors.Join(errUnresponsive, err)
		}
		if committed {
			db.lost.Store(0)
		} else if !tx.rollback(ctx) {
			db.lost.Add(1)
		}
		_ = conn.Close() // returned to the pool, or already closed
		unresponsive := errors.Is(err, errUnresponsive)
		if unresponsive {
			db.watchdog.cutIdle()
		}
		if unresponsive || isReadOnly(err) {
			// Our connections belong to a demoted server, or the network dropped them. New connections reach the server
			// that took over, or this one once it accepts writes again.
			for _, pool := range []*sql.DB{db.write, db.read} {
				pool.SetMaxIdleConns(-1)
				pool.SetMaxIdleConns(pool.Stats().MaxOpenConnections)
			}
		}
	}()
	held, err := db.begin(ctx, tx, hold)
	if err != nil {
		return done, fmt.Errorf("begin transaction: %w", err)
	}
	last, err := fn(tx, held)
	if err != nil && tx.failed != nil {
		return done, errors.Join(tx.failed, err)
	}
	if err != nil {
		return done, err
	}
	err = tx.commit(ctx, last)
	if committed = err == nil; committed && own != nil {
		done.server = own.server
	}
	return done, err
}

// begin opens the transaction and runs hold in the same round trip.
func (db *DB) begin(ctx context.Context, tx *postgresTx, hold string) (held []int64, err error) {
	text := "begin"
	if lost := db.lost.Load(); lost > 0 {
		// Postgres ended transactions midway. This process may be slow rather than frozen, so it gets more time to
		// complete one.
		text += fmt.Sprintf("; set local idle_in_transaction_session_timeout = %d",
			(idleWrite << min(lost, maxPatience)).Milliseconds())
	}
	if hold != "" {
		text += "; " + planOnce + "; " + hold
	}
	err = tx.raw(func(conn *pgx.Conn) error {
		stop := db.watch(ctx, conn.PgConn().PID())
		results, err := conn.PgConn().Exec(ctx, text).ReadAll()
		if watched := stop(); err != nil {
			return errors.Join(err, watched)
		}
		if hold == "" {
			return nil
		}
		held, err = numbersOf(results[len(results)-1])
		return err
	})
	return held, err
}

// planOnce makes Postgres plan each statement of a transaction only once. Otherwise it would plan statements with
// arrays every time, because the plan may depend on an array's length, and planning takes longer than running them.
// These statements find rows by key, so one plan is good for all lengths.
const planOnce = "set local plan_cache_mode = force_generic_plan"

// maxPatience bounds how often idleWrite doubles: to 48 s.
const maxPatience = 5

// raw calls fn with the driver's connection.
func (t *postgresTx) raw(fn func(conn *pgx.Conn) error) error {
	return t.conn.Raw(func(conn any) error { return fn(conn.(*stdlib.Conn).Conn()) })
}

// monitored returns the monitored connection of the transaction, nil for none.
func (t *postgresTx) monitored() (found *monitoredConn) {
	_ = t.raw(func(conn *pgx.Conn) error { // the next call returns the same error
		found = monitoredOf(conn.PgConn())
		return nil
	})
	return found
}

// rollback leaves no transaction open. If Postgres cannot be reached or does not answer, it closes the connection and
// returns false.
func (t *postgresTx) rollback(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockWait)
	defer cancel()
	return t.conn.Raw(func(conn any) error {
		if _, err := conn.(*stdlib.Conn).Conn().Exec(ctx, "rollback"); err != nil {
			return driver.ErrBadConn // database/sql closes it
		}
		return nil
	}) == nil
}

// commit sends the delayed statements, the last statement and COMMIT in one round trip, with the wait of an early
// release of the locks. Its error wraps ErrCommit unless it is certain that COMMIT did not run.
func (t *postgresTx) commit(ctx context.Context, last Last) error {
	statements := t.later
	if last.Query != "" {
		statements = append(statements, statement{last.Query, last.Args})
	}
	return t.raw(func(conn *pgx.Conn) error {
		batch := &pgx.Batch{}
		for _, s := range statements {
			batch.Queue(s.text, s.args...)
		}
		if last.Early {
			batch.Queue("set local synchronous_commit = off")
		}
		batch.Queue("commit")
		if last.Early {
			batch.Queue(mustWait) // a separate transaction, which ends with the batch
		}
		results := conn.SendBatch(ctx, batch)
		if err := t.results(results, statements, last); err != nil {
			_ = results.Close() // COMMIT has already returned its error
			return err
		}
		if err := results.Close(); err != nil && last.Early {
			return fmt.Errorf("%w: %w", ErrCommit, err)
		}
		if err := awaited(conn); err != nil {
			return fmt.Errorf("%w: %w", ErrCommit, err) // a later primary may lack it
		}
		return nil
	})
}

// results reads the results of a transaction's statements and of COMMIT.
func (*postgresTx) results(results pgx.BatchResults, statements []statement, last Last) error {
	for i, s := range statements {
		rows, err := results.Query()
		if err == nil {
			if i == len(statements)-1 && last.Query != "" && last.Row != nil {
				for err == nil && rows.Next() {
					err = last.Row(rows)
				}
			}
			rows.Close()
			err = errors.Join(err, rows.Err())
		}
		if err != nil {
			return notCommitted(fmt.Errorf("%.60s: %w", s.text, err))
		}
	}
	if last.Early {
		if _, err := results.Exec(); err != nil {
			return notCommitted(err)
		}
	}
	tag, err := results.Exec()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCommit, err)
	}
	if tag.String() != "COMMIT" {
		return errors.New("commit failed: a statement of the transaction had failed before")
	}
	return nil
}

// notCommitted returns the error of a statement before COMMIT. If Postgres itself reported it, COMMIT did not run.
func notCommitted(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCommit, err)
}

// flush sends the delayed statements and waits for their results.
func (t *postgresTx) flush(ctx context.Context) error {
	if len(t.later) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for _, s := range t.later {
		batch.Queue(s.text, s.args...)
	}
	t.later = nil
	t.failed = t.raw(func(conn *pgx.Conn) error { return conn.SendBatch(ctx, batch).Close() })
	return t.failed
}

// ExecContext implements Tx.
func (t *postgresTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.conn.ExecContext(ctx, query, args...)
}

// QueryContext implements Tx.
func (t *postgresTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Tx.
func (t *postgresTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	_ = t.flush(ctx) // the row then has an error, too; only database/sql can make such a row
	return t.conn.QueryRowContext(ctx, query, args...)
}
