package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// writer is the one connection on which SQLite is written, kept together with its prepared statements, those that begin and end a
// transaction among them. A sql.Tx for each transaction would cost a goroutine that watches its context, and a handle for each statement.
//
// Who writes has the turn: waiting for it in Go is fair, waiting for SQLite's write lock is not.
type writer struct {
	pool *sql.DB       // keeps no connection that is not in use
	turn chan struct{} // holds one token while nobody has the turn
	log  *logSync      // nil when a commit need not survive loss of power

	// These belong to who has the turn.
	conn     *sql.Conn // nil when it is to be opened anew
	prepared map[string]*sql.Stmt
	bytes    int // of the parameters of the running transaction
}

// openWriter opens the writer of a pool; synced is how its log is synced for each commit (Options.Sync), when full says that it is.
func openWriter(ctx context.Context, pool *sql.DB, full bool, synced func(*os.File) error) (*writer, error) {
	w := &writer{pool: pool, turn: make(chan struct{}, 1)}
	if full {
		w.log = newLogSync(synced, w.restore)
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	w.turn <- struct{}{}
	return w, nil
}

// connect opens the connection unless it is open. What it leaves behind after an error is the next call's to mend.
func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open the connection for writing: %w", err)
	}
	if w.log != nil {
		if err := w.openLog(ctx, conn); err != nil {
			return errors.Join(fmt.Errorf("open the log for syncing: %w", err), conn.Close())
		}
	}
	w.conn, w.prepared = conn, map[string]*sql.Stmt{}
	return nil
}

// openLog has the log of a connection synced by us instead of in COMMIT.
func (w *writer) openLog(ctx context.Context, conn *sql.Conn) error {
	var file string
	if err := conn.QueryRowContext(ctx, `select file from pragma_database_list where name = 'main'`).Scan(&file); err != nil {
		return err
	}
	if err := w.log.open(file + "-wal"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, `pragma synchronous = normal`)
	return err
}

// restore writes what is in the log to the database, and syncs that.
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

// take waits for the turn, or for ctx to end.
func (w *writer) take(ctx context.Context) error {
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

// with hands over the connection while no transaction is open on it.
func (w *writer) with(ctx context.Context, fn func(conn *sql.Conn) error) error {
	if err := w.take(ctx); err != nil {
		return err
	}
	defer w.release()
	return fn(w.conn)
}

// drop closes the connection, and with it whatever transaction is open on it. The next turn opens another.
func (w *writer) drop() error {
	if w.conn == nil {
		return nil
	}
	err := w.forget() // SQLite keeps a connection open for as long as it has statements
	conn := w.conn
	w.conn = nil
	return errors.Join(err, conn.Close()) // the pool keeps none that is not in use
}

// update runs fn in one transaction and tells how many bytes were handed over in it. The errors are those of DB.Update.
func (w *writer) update(ctx context.Context, fn func(tx Tx) error) (committed Committed, bytes int, err error) {
	if err := w.take(ctx); err != nil {
		return Committed{}, 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer w.release()
	w.bytes = 0
	if len(w.prepared) > maxStatements {
		if err := w.forget(); err != nil {
			return Committed{}, 0, fmt.Errorf("begin transaction: %w", err)
		}
	}
	if err := w.exec(ctx, "begin immediate"); err != nil {
		return Committed{}, 0, errors.Join(fmt.Errorf("begin transaction: %w", err), w.rollback(ctx, err, true))
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
		// A failed write may have ended the transaction already: then there is nothing to roll back.
		if rollbackErr := w.rollback(ctx, err, Transient(err)); rollbackErr != nil {
			return Committed{}, 0, errors.Join(err, fmt.Errorf("roll back: %w", rollbackErr))
		}
		return Committed{}, 0, err
	}
	if err := ctx.Err(); err != nil {
		return Committed{}, 0, errors.Join(err, w.rollback(ctx, err, false))
	}
	if err := w.exec(ctx, "commit"); err != nil {
		return Committed{}, 0, errors.Join(fmt.Errorf("%w: %w", ErrCommit, err), w.rollback(ctx, err, true))
	}
	if w.log != nil {
		committed = w.log.note()
	}
	return committed, w.bytes, nil
}

// rollback leaves no transaction open: when SQLite cannot roll back, or has done so already, the connection goes, and
// so it does when the cause says that its files may not be what they were. Then there may be nothing to complain about
// (inDoubt): a failed BEGIN or COMMIT leaves a transaction or none.
func (w *writer) rollback(ctx context.Context, cause error, inDoubt bool) error {
	if isStale(cause) {
		return w.drop()
	}
	err := w.exec(ctx, "rollback")
	if err == nil {
		return nil
	}
	if inDoubt {
		err = nil
	}
	return errors.Join(err, w.drop())
}

// exec runs a statement without parameters, to its end whatever becomes of ctx.
func (w *writer) exec(ctx context.Context, text string) error {
	prepared, err := w.statement(ctx, text) //nolint:sqlclosecheck // kept for the next time; it goes with its connection
	if err != nil {
		return err
	}
	_, err = prepared.ExecContext(context.WithoutCancel(ctx))
	return err
}

// statement finds a prepared statement or makes it.
func (w *writer) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if found := w.prepared[text]; found != nil {
		return found, nil
	}
	prepared, err := w.conn.PrepareContext(context.WithoutCancel(ctx), positional(text))
	if err != nil {
		return nil, err
	}
	w.prepared[text] = prepared
	return prepared, nil
}

// forget closes the prepared statements.
func (w *writer) forget() error {
	var errs []error
	for _, prepared := range w.prepared {
		errs = append(errs, prepared.Close())
	}
	clear(w.prepared)
	return errors.Join(errs...)
}

func (w *writer) close() error {
	<-w.turn
	defer w.release()
	err := errors.Join(w.drop(), w.pool.Close())
	if w.log != nil {
		err = errors.Join(err, w.log.close())
	}
	return err
}

// writerTx is a transaction of the writer.
//
// A statement begun is finished whatever becomes of the context: to watch the context the driver starts a goroutine for every statement,
// which takes longer than the statement. No further one is begun then, and nothing is committed.
type writerTx struct {
	w   *writer
	ctx context.Context //nolint:containedctx // the transaction ends with it
}

// statement finds the statement and the context to run it with; after an error that is the context with which it cannot run.
func (t writerTx) statement(ctx context.Context, text string) (*sql.Stmt, context.Context, error) {
	for _, one := range [...]context.Context{ctx, t.ctx} {
		if one.Err() != nil {
			return nil, one, one.Err()
		}
	}
	prepared, err := t.w.statement(ctx, text)
	return prepared, context.WithoutCancel(ctx), err
}

// ExecContext implements Tx.
func (t writerTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	prepared, ctx, err := t.statement(ctx, query) //nolint:sqlclosecheck // kept for the next time; it goes with its connection
	if err != nil {
		return nil, err
	}
	for _, arg := range args {
		if text, isText := arg.(string); isText {
			t.w.bytes += len(text)
		}
	}
	return prepared.ExecContext(ctx, args...)
}

// QueryContext implements Tx.
func (t writerTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	prepared, ctx, err := t.statement(ctx, query) //nolint:sqlclosecheck // kept for the next time; it goes with its connection
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args...)
}

// QueryRowContext implements Tx.
func (t writerTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	prepared, ctx, err := t.statement(ctx, query) //nolint:sqlclosecheck // kept for the next time; it goes with its connection
	if err != nil {
		return t.w.conn.QueryRowContext(ctx, query, args...) // fails likewise: only database/sql makes a row with an error
	}
	return prepared.QueryRowContext(ctx, args...)
}
