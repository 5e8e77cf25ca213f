package database

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteError is an error of SQLite, from either driver.
type sqliteError interface {
	error
	Code() int // the extended result code
}

// Transient reports whether an error is the store's condition and not the transaction's fault. Examples are a broken
// connection, a restarting or read-only server, a full or failing disk, or a lock that was not available in time. The
// same transaction may be retried, and succeeds once the store works. Transient does not report whether a failed COMMIT
// took effect (see ErrCommit).
func Transient(err error) bool {
	var nerr net.Error
	switch {
	case err == nil:
		return false
	case Refused(err):
		return true
	case errors.As(err, new(*pgconn.PgError)), errors.As(err, new(sqliteError)):
		return false
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	return errors.As(err, &nerr) || pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed")
}

// Refused is Transient for errors that only the store returns, wherever they surface: its own refusals, and an
// unreachable server. A broken connection may be another service's.
func Refused(err error) bool {
	var (
		pg   *pgconn.PgError
		lite sqliteError
	)
	switch {
	case errors.As(err, &pg):
		return transientState(pg.Code)
	case errors.As(err, &lite):
		return transientCode(lite.Code())
	case errors.As(err, new(*SyncError)):
		return true
	}
	return errors.Is(err, errUnresponsive) || ownError(err) != nil || errors.As(err, new(*pgconn.ConnectError))
}

// Reason describes a store's error for readers who must not see the store's address: without host, user or statement.
func Reason(err error) string {
	var (
		pg   *pgconn.PgError
		lite sqliteError
		sync *SyncError
	)
	switch {
	case errors.As(err, &pg):
		return pg.Message + " (SQLSTATE " + pg.Code + ")"
	case errors.As(err, &lite):
		return lite.Error()
	case errors.As(err, &sync):
		return sync.Error()
	}
	if said := ownError(err); said != nil {
		return said.Error()
	}
	return "it cannot be reached"
}

// ownError returns an error of this package that is more specific than an unreachable store, nil for none.
func ownError(err error) error {
	for _, one := range []error{errUnwaited, errMoved, ErrUnsettled} {
		if errors.Is(err, one) {
			return one
		}
	}
	return nil
}

// transientState is Transient for Postgres' SQLSTATE; most states are decided by their class.
func transientState(state string) bool {
	switch state {
	case readOnlyTransaction,
		"25P03", "25P04", // the transaction was idle or ran too long: its client froze or lost its network
		"42501": // a right was revoked, or is not yet granted on the server that took over
		return true
	}
	classes := []string{
		"08", // connection
		"28", // login: a password is being changed
		"3D", // the database is being restored
		"40", // deadlock, serialisation
		"53", // disk, memory, connections
		"55", // locks
		"57", // canceled by a timeout or an operator
		"58", // I/O
		"XX", // internal and corrupted data
	}
	return len(state) == 5 && slices.Contains(classes, state[:2])
}

// readOnlyTransaction is the code of a server that was demoted or is read-only.
const readOnlyTransaction = "25006"

func isReadOnly(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == readOnlyTransaction
}

// transientCode is Transient for SQLite's result code, basic or extended.
func transientCode(code int) bool {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL:
		return true
	}
	return stale(code)
}

// stale reports whether a connection may keep failing after this code although the files are intact again: its open
// files are not the current ones.
func stale(code int) bool {
	switch code & 0xff {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

func isStale(err error) bool {
	var lite sqliteError
	return errors.As(err, &lite) && stale(lite.Code())
}
