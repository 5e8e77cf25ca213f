package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// errShared refuses a pooler that may give each transaction another connection. Timeouts, listeners, prepared
// statements and a commit that does not wait for the disk would affect another client.
var errShared = errors.New("DATABASE_URL leads to a pooler that gives each transaction another connection (PgBouncer: " +
	"pool_mode=transaction): name Postgres itself in it, or have the pooler keep a connection for each client " +
	"(pool_mode=session, and at least 25 of them for each server)")

// checkPooler refuses such a pooler. Without a pooler it sends no query.
func checkPooler(ctx context.Context, read, raw *sql.DB) (err error) {
	known, err := read.Conn(ctx)
	if err != nil {
		return err
	}
	direct := Conn{known}.Server() != ""
	if err := known.Close(); err != nil || direct {
		return err
	}
	var conns [2]*sql.Conn
	for i := range conns {
		if conns[i], err = raw.Conn(ctx); err != nil {
			return fmt.Errorf("open two connections of the pooler: %w", err)
		}
		defer func() { err = errors.Join(err, conns[i].Close()) }()
	}
	// A pooler that rotates its connections is also detected within these attempts.
	var served [2][]int64
	for _, turn := range []int{0, 1, 0, 0, 1} {
		pid, err := Conn{conns[turn]}.backend(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(served[1-turn], pid) || len(served[turn]) > 0 && !slices.Contains(served[turn], pid) {
			return errShared
		}
		served[turn] = append(served[turn], pid)
	}
	return nil
}

// backend returns the Postgres process that answers now.
func (c Conn) backend(ctx context.Context) (pid int64, err error) {
	err = c.raw(func(conn *pgx.Conn) error {
		// Not a prepared statement, which may exist already.
		results, err := conn.PgConn().Exec(ctx, `select pg_backend_pid()`).ReadAll()
		if err != nil {
			return err
		}
		pid, err = strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
		return err
	})
	return pid, err
}
