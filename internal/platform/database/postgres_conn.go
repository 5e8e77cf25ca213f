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

// Conn is one connection for reads that have to know which server answers them.
type Conn struct{ *sql.Conn }

// ReadOn hands over a connection for reads of Postgres, for as long as fn runs.
func (db *DB) ReadOn(ctx context.Context, fn func(conn Conn) error) error {
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection for reading: %w", err)
	}
	defer func() { _ = conn.Close() }() // back to the pool, or closed already
	return fn(Conn{conn})
}

// Server names the server that answers, and as which process of its machine: another one, or the same one started anew,
// has another name. "" when a pooler in between answers for it.
func (c Conn) Server() (name string) {
	_ = c.raw(func(conn *pgx.Conn) error { // its error is that of the next statement, too
		name = serverOf(conn)
		return nil
	})
	return name
}

func (c Conn) raw(fn func(conn *pgx.Conn) error) error {
	return c.Raw(func(conn any) error { return fn(conn.(*stdlib.Conn).Conn()) })
}

// readEach is ReadEach. Its rows are the driver's own: database/sql copies each value twice on its way to where it is
// scanned.
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

// mustWait is a statement whose commit waits for whatever a commit of this server waits for: its log's way to the disk,
// and to the standby. A transaction that writes nothing waits for neither.
const mustWait = `select pg_logical_emit_message(true, 'harness', '')`

// Settle waits until all that was visible on this connection when it was called survives what a commit survives, and
// returns what a query of one row of numbers without parameters answered before that.
func (c Conn) Settle(ctx context.Context, query string) (numbers []int64, err error) {
	err = c.raw(func(conn *pgx.Conn) error {
		// One round trip, and one transaction: statements that are sent together are.
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
		return nil, fmt.Errorf("wait until what was read is on the standby: %w", err)
	}
	return numbers, nil
}

// numbersOf are the numbers of an answer's only row.
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

// awaited is errUnwaited when the waiting of the last commit for the standby was broken off.
func awaited(conn *pgx.Conn) error {
	if l := lineOf(conn.PgConn()); l != nil && l.unwaited.Swap(false) {
		return errUnwaited
	}
	return nil
}

// serverOf is Conn.Server.
func serverOf(conn *pgx.Conn) string {
	if l := lineOf(conn.PgConn()); l != nil {
		return l.server
	}
	return ""
}
