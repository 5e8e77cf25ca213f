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

// postgresTx is a writing transaction of Postgres. Every statement is a round trip, and others wait for what it has
// locked meanwhile; so what need not be known at once is sent later, together.
type postgresTx struct {
	conn  *sql.Conn
	later []statement
	// failed is why statements sent later failed, when those after them could only say that the transaction had failed.
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
	own := tx.line()
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
		_ = conn.Close() // back to the pool, or closed already
		unresponsive := errors.Is(err, errUnresponsive)
		if unresponsive {
			db.watchdog.cutIdle()
		}
		if unresponsive || isReadOnly(err) {
			// Our connections are to a server that was demoted, or over a network that has forgotten them. Those opened from now
			// on are to the one that took over, or to this one as it is when it may be written again.
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
		// Transactions were given up in the middle. Perhaps this process is not frozen but slow: it gets more time, so that
		// one succeeds.
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

// planOnce makes Postgres plan each statement of a transaction the first time only. It would else plan those with
// arrays every time, because it knows how long they are then: that took longer than they do. What is asked for while
// others wait is found by key, with one good plan.
const planOnce = "set local plan_cache_mode = force_generic_plan"

// maxPatience bounds how often idleWrite doubles: to 48 s.
const maxPatience = 5

// raw hands over the driver's connection.
func (t *postgresTx) raw(fn func(conn *pgx.Conn) error) error {
	return t.conn.Raw(func(conn any) error { return fn(conn.(*stdlib.Conn).Conn()) })
}

// line is the way of the transaction's connection, nil when it has none.
func (t *postgresTx) line() (found *monitoredConn) {
	_ = t.raw(func(conn *pgx.Conn) error { // its errors are the next call's, too
		found = lineOf(conn.PgConn())
		return nil
	})
	return found
}

// rollback leaves no transaction open: the connection is closed when Postgres cannot be reached, or does not
// answer; false then.
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

// commit sends what was left for later, the last statement and COMMIT in one round trip, and with them what an early
// release of the locks waits for. Its error wraps ErrCommit unless it is certain that COMMIT was not run.
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
			batch.Queue(mustWait) // a transaction of its own, which ends with the batch
		}
		results := conn.SendBatch(ctx, batch)
		if err := t.results(results, statements, last); err != nil {
			_ = results.Close() // COMMIT has returned its error already
			return err
		}
		if err := results.Close(); err != nil && last.Early {
			return fmt.Errorf("%w: %w", ErrCommit, err)
		}
		if err := awaited(conn); err != nil {
			return fmt.Errorf("%w: %w", ErrCommit, err) // a primary that comes after this one may not have it
		}
		return nil
	})
}

// results are those of the statements of a transaction and of COMMIT.
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

// notCommitted is the error of a statement before COMMIT. When Postgres itself said so, it went no further.
func notCommitted(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCommit, err)
}

// flush sends what was left for later, and waits.
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
	_ = t.flush(ctx) // then the row has an error, too: only database/sql makes one
	return t.conn.QueryRowContext(ctx, query, args...)
}
