package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// The time limits after which Postgres ends a connection's transaction. A process that freezes or loses its network
// within a transaction keeps its locks until then, and loses its uncommitted writes.
const (
	// idleWrite bounds the pause between two statements of a writing transaction, idleRead the pause of a reading one,
	// which blocks no writer.
	idleWrite = 1500 * time.Millisecond
	idleRead  = time.Minute
	// lockWait bounds how long a writer waits for a lock. It is longer than a frozen process can hold one.
	lockWait = 5 * time.Second
	// longStatement and longTransaction bound writes; none of ours takes that long. Reads and migrations have no
	// limit.
	longStatement   = 5 * time.Minute
	longTransaction = 10 * time.Minute // since Postgres 17
)

// writeConns is the number of the pool's connections for writing: a journal has one writer.
const writeConns = 4

func openPostgres(ctx context.Context, opts Options) (*DB, error) {
	config, err := pgx.ParseConfig(opts.URL)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL is not a Postgres URL like postgres://user:password@host:5432/name: %w",
			redact(err))
	}
	unresponsive := guard(config)
	config.Tracer = tracer{}
	maxConns := opts.MaxConns
	if maxConns == 0 {
		maxConns = 16
	}
	db := &DB{
		engine: Postgres, watchdog: unresponsive,
		write: openPool(config, writeConns, map[string]time.Duration{
			"idle_in_transaction_session_timeout": idleWrite, "lock_timeout": lockWait, "statement_timeout": longStatement,
			"transaction_timeout": longTransaction,
		}),
		read: openPool(config, max(maxConns-writeConns, 1),
			map[string]time.Duration{"idle_in_transaction_session_timeout": idleRead}),
		raw: openPool(config, writeConns, nil),
	}
	db.raw.SetMaxIdleConns(-1)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := db.read.PingContext(ctx); err != nil {
		return nil, errors.Join(
			fmt.Errorf("cannot reach Postgres at DATABASE_URL (is it running, and may this user log in?): %w", redact(err)),
			db.Close())
	}
	if err := checkPooler(ctx, db.read, db.raw); err != nil {
		return nil, errors.Join(redact(err), db.Close())
	}
	return db, nil
}

// openPool makes a pool whose connections have these timeouts. Timeouts set by DATABASE_URL, the user or the database
// take precedence.
func openPool(config *pgx.ConnConfig, conns int, timeouts map[string]time.Duration) *sql.DB {
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		version, err := majorVersion(conn.PgConn().ParameterStatus("server_version"))
		if err != nil {
			return err
		}
		var text strings.Builder
		for name, timeout := range timeouts {
			if _, set := config.RuntimeParams[name]; !set && (name != "transaction_timeout" || version >= 17) {
				fmt.Fprintf(&text, "select set_config('%s', '%d', false) where current_setting('%[1]s') = '0';", name,
					timeout.Milliseconds())
			}
		}
		text.WriteString(`select pg_backend_pid(), extract(epoch from pg_postmaster_start_time())`)
		results, err := conn.PgConn().Exec(ctx, text.String()).ReadAll()
		if err != nil {
			return err
		}
		identify(conn.PgConn(), results[len(results)-1].Rows[0])
		return nil
	}))
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool
}

// majorVersion returns the major version of "15.4 (Debian)" or "18beta1".
func majorVersion(said string) (int, error) {
	digits := strings.IndexFunc(said+".", func(r rune) bool { return r < '0' || r > '9' })
	version, err := strconv.Atoi(said[:digits])
	if err != nil {
		return 0, fmt.Errorf("unknown version of Postgres: %q", said)
	}
	return version, nil
}
