package database

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Conn is one connection, for reads that must know which server answers them.
type Conn struct{ *sql.Conn }

// ReadOn calls fn with a connection for Postgres reads.
func (db *DB) ReadOn(ctx context.Context, fn func(conn Conn) error) error {
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection for reading: %w", err)
	}
	defer func() { _ = conn.Close() }() // returned to the pool or already closed
	return fn(Conn{conn})
}

// Server identifies the running server: another server, or the same one after a restart, has another name. It is ""
// behind a pooler that answers in place of the server.
func (c Conn) Server() (name string) {
	_ = c.raw(func(conn *pgx.Conn) error { // the next statement returns the same error
		name = serverOf(conn)
		return nil
	})
	return name
}

func (c Conn) raw(fn func(conn *pgx.Conn) error) error {
	return c.Raw(func(conn any) error { return fn(conn.(*stdlib.Conn).Conn()) })
}

// readEach is ReadEach with the driver's own rows: database/sql copies each value twice before the scan.
func (c Conn) readEach(ctx context.Context, scan func(Row) error, query string, args ...any) error {
	return c.raw(func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// mustWait is a statement whose commit waits for the server's log to reach the disk and the standby. A transaction
// without writes waits for neither.
const mustWait = `select pg_logical_emit_message(true, 'harness', '')`

// Settle waits until all data visible on this connection is as durable as a commit. It returns the row of a query, read
// before that; the query has no parameters and returns numbers.
func (c Conn) Settle(ctx context.Context, query string) (numbers []int64, err error) {
	err = c.raw(func(conn *pgx.Conn) error {
		// One round trip and one transaction, because the statements are sent together.
		results, err := conn.PgConn().Exec(ctx, query+"; "+mustWait).ReadAll()
		if err != nil {
			return err
		}
		if len(results) != 2 {
			return sql.ErrNoRows
		}
		if numbers, err = numbersOf(results[0]); err != nil {
			return err
		}
		return awaited(conn)
	})
	if err != nil {
		return nil, fmt.Errorf("wait until the data that was read is on the standby: %w", err)
	}
	return numbers, nil
}

// numbersOf returns the numbers in an answer's only row.
func numbersOf(result *pgconn.Result) ([]int64, error) {
	if len(result.Rows) != 1 {
		return nil, sql.ErrNoRows
	}
	numbers := make([]int64, len(result.Rows[0]))
	for i, text := range result.Rows[0] {
		var err error
		if numbers[i], err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// awaited returns errUnwaited when the last commit stopped waiting for the standby.
func awaited(conn *pgx.Conn) error {
	if l := monitoredOf(conn.PgConn()); l != nil && l.unwaited.Swap(false) {
		return errUnwaited
	}
	return nil
}

// serverOf returns the Conn.Server of a connection.
func serverOf(conn *pgx.Conn) string {
	if l := monitoredOf(conn.PgConn()); l != nil {
		return l.server
	}
	return ""
}
