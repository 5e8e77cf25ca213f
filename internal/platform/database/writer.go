package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database/lite"
	"harness/internal/platform/database/wal"
)

// writer is the only connection for writes to SQLite. A sql.Tx for each transaction would cost a goroutine that watches
// its context, and database/sql would cost a copy of all data.
//
// A writer holds the turn: waiting for it in Go is fair, waiting for SQLite's write lock is not.
type writer struct {
	open func() (*lite.Conn, error)
	turn chan struct{} // holds one token while no writer has the turn
	log  *logSync      // nil if a commit need not survive a loss of power

	// These belong to the holder of the turn.
	lite  *lite.Conn // nil when it must be reopened
	pool  *sql.DB    // a pool with only this connection
	conn  *sql.Conn  // the same connection, for queries
	bytes int        // parameter bytes of the running transaction
}

// openWriter opens the writer. If full, it syncs the log for each commit, as Options describe.
func openWriter(ctx context.Context, open func() (*lite.Conn, error), full bool, opts Options) (*writer, error) {
	w := &writer{open: open, turn: make(chan struct{}, 1)}
	if full {
		w.log = newLogSync(opts, w.restore)
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	w.turn <- struct{}{}
	return w, nil
}

// connect opens the connection unless it is open. After an error the next call repairs a partial state.
func (w *writer) connect(ctx context.Context) error {
	if w.lite != nil {
		return nil
	}
	made, err := w.open()
	if err != nil {
		return fmt.Errorf("open the connection for writing: %w", err)
	}
	w.lite, w.pool = made, sql.OpenDB(made.Connector())
	if w.conn, err = w.pool.Conn(ctx); err != nil {
		return errors.Join(fmt.Errorf("open the connection for writing: %w", err), w.drop())
	}
	if w.log != nil {
		if err := w.openLog(ctx); err != nil {
			return errors.Join(fmt.Errorf("open the log for syncing: %w", err), w.drop())
		}
	}
	return nil
}

// openLog makes this package sync the connection's log, instead of COMMIT.
func (w *writer) openLog(ctx context.Context) error {
	var file string
	if err := w.conn.QueryRowContext(ctx, `select file from pragma_database_list where name = 'main'`).
		Scan(&file); err != nil {
		return err
	}
	if err := w.log.open(file); err != nil {
		return err
	}
	return w.exec(`pragma synchronous = normal`)
}

// restore writes the log to the database, and syncs the database.
func (w *writer) restore(ctx context.Context) error {
	return w.with(ctx, func(conn *sql.Conn) error {
		err := moveAll(ctx, conn)
		if err == nil {
			w.log.restored()
		}
		if isStale(err) {
			err = errors.Join(err, w.drop())
		}
		return err
	})
}

// acquire waits for the turn, or until ctx ends.
func (w *writer) acquire(ctx context.Context) error {
	select {
	case <-w.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := w.connect(ctx); err != nil {
		w.turn <- struct{}{}
		return err
	}
	return nil
}

func (w *writer) release() { w.turn <- struct{}{} }

// with calls a function with the connection while no transaction is open on it.
func (w *writer) with(ctx context.Context, fn func(conn *sql.Conn) error) error {
	if err := w.acquire(ctx); err != nil {
		return err
	}
	defer w.release()
	return fn(w.conn)
}

// drop closes the connection and its open transaction, if any. The next turn opens another.
func (w *writer) drop() error {
	if w.lite == nil {
		return nil
	}
	var err error
	if w.conn != nil {
		err = w.conn.Close()
	}
	err = errors.Join(err, w.pool.Close(), w.lite.Close())
	w.lite, w.pool, w.conn = nil, nil, nil
	return err
}

// update runs fn in one transaction and returns how many bytes it wrote. The errors are those of DB.Update.
func (w *writer) update(ctx context.Context, fn func(tx Tx) error) (committed Committed, bytes int, err error) {
	if err := w.acquire(ctx); err != nil {
		return Committed{}, 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer w.release()
	w.bytes = 0
	if w.lite.Statements() > maxStatements {
		w.lite.Forget()
	}
	if err := w.exec("begin immediate"); err != nil {
		return Committed{}, 0, errors.Join(fmt.Errorf("begin transaction: %w", err), w.rollback(err, true))
	}
	ended := false
	defer func() {
		if !ended { // fn panicked
			_ = w.drop()
		}
	}()
	err = fn(writerTx{w, ctx})
	ended = true
	if err != nil {
		// A failed write may have ended the transaction already. Then there is nothing to roll back.
		if rollbackErr := w.rollback(err, Transient(err)); rollbackErr != nil {
			return Committed{}, 0, errors.Join(err, fmt.Errorf("roll back: %w", rollbackErr))
		}
		return Committed{}, 0, err
	}
	if err := ctx.Err(); err != nil {
		return Committed{}, 0, errors.Join(err, w.rollback(err, false))
	}
	if err := w.exec("commit"); err != nil {
		return Committed{}, 0, errors.Join(fmt.Errorf("%w: %w", ErrCommit, err), w.rollback(err, true))
	}
	if w.log != nil {
		salt, end := w.lite.LogEnd()
		committed = w.log.note(wal.Mark{Salt: salt, End: end})
	}
	return committed, w.bytes, nil
}

// rollback leaves no transaction open. It closes the connection in three cases: SQLite cannot roll back, SQLite has
// already done so, or the cause shows that its files may have changed. inDoubt allows a failed rollback: after a failed
// BEGIN or COMMIT, a transaction may or may not be open.
func (w *writer) rollback(cause error, inDoubt bool) error {
	if isStale(cause) {
		return w.drop()
	}
	err := w.exec("rollback")
	if err == nil {
		return nil
	}
	if inDoubt {
		err = nil
	}
	return errors.Join(err, w.drop())
}

// exec runs a statement without parameters.
func (w *writer) exec(text string) error {
	_, err := w.lite.Exec(text, nil)
	return err
}

func (w *writer) close() error {
	<-w.turn
	defer w.release()
	err := w.drop()
	if w.log != nil {
		err = errors.Join(err, w.log.close())
	}
	return err
}

// writerTx is a transaction of the writer.
//
// A started statement finishes even if the context ends. Then no further statement starts, and nothing is committed.
type writerTx struct {
	w   *writer
	ctx context.Context //nolint:containedctx // the transaction ends with it
}

// begins returns the context for a statement. After an error it returns a context with which the statement cannot run.
func (t writerTx) begins(ctx context.Context) (context.Context, error) {
	for _, one := range [...]context.Context{ctx, t.ctx} {
		if err := one.Err(); err != nil {
			return one, err
		}
	}
	return context.WithoutCancel(ctx), nil
}

// ExecContext implements Tx.
func (t writerTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if _, err := t.begins(ctx); err != nil {
		return nil, err
	}
	for _, arg := range args {
		if text, isText := arg.(string); isText {
			t.w.bytes += len(text)
		}
	}
	result, err := t.w.lite.Exec(query, args)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// QueryContext implements Tx.
func (t writerTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := t.begins(ctx)
	if err != nil {
		return nil, err
	}
	return t.w.conn.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Tx.
func (t writerTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx, _ = t.begins(ctx) // an ended context makes the query fail the same way; only database/sql can make a row with an error
	return t.w.conn.QueryRowContext(ctx, query, args...)
}
