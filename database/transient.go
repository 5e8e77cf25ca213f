package database

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

const (
	sqliteBusy   = 5
	sqliteLocked = 6
)

// Transient tells whether the same transaction may well succeed when it is tried again: the connection broke, the server is restarting,
// a deadlock or a lock time-out picked this one. It says nothing about whether a failed COMMIT took effect (see ErrCommit).
func Transient(err error) bool {
	var (
		pg   *pgconn.PgError
		lite *sqlite.Error
		nerr net.Error
		conn *pgconn.ConnectError
	)
	switch {
	case err == nil:
		return false
	case errors.As(err, &pg):
		// 08 connection, 40 rollback (deadlock, serialisation), 53 resources (except 53100 disk full), 57P operator intervention.
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "40") || strings.HasPrefix(pg.Code, "57P") ||
			(strings.HasPrefix(pg.Code, "53") && pg.Code != "53100") ||
			pg.Code == "25P03" || pg.Code == "25P04" || pg.Code == "55P03" // a transaction idled or took too long, a lock was not free in time
	case errors.As(err, &lite):
		code := lite.Code() & 0xff
		return code == sqliteBusy || code == sqliteLocked
	case errors.As(err, &conn), errors.Is(err, driver.ErrBadConn), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	return errors.As(err, &nerr) || pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed")
}
