package database

import (
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// monitoredConn is the network connection of a Postgres connection.
type monitoredConn struct {
	net.Conn
	of *connWatchdog
	to address
	// pid is the Postgres process that serves the connection, 0 while unknown.
	pid atomic.Uint32
	// server is the server's start time, "" when unknown; it is set before the connection is used.
	server string
	cut    atomic.Bool
	// made: the whole connection is set up, not only its network connection.
	made atomic.Bool
	// unwaited: a commit was acknowledged although its wait for the standby had not ended.
	unwaited         atomic.Bool
	reading, writing wait
}

// wait is a caller waiting on a connection; round is odd during the wait.
type wait struct {
	round atomic.Uint64
	timer *time.Timer
}

func (w *wait) begin() {
	w.round.Add(1)
	w.timer.Reset(silence)
}

func (w *wait) end() {
	w.round.Add(1)
	w.timer.Stop()
}

// abandon closes an unusable connection; its waiting caller gets errUnresponsive.
func (l *monitoredConn) abandon() {
	l.cut.Store(true)
	_ = l.Close() // no further message is sent over it
}

// Close implements net.Conn. Closing an abandoned connection is no error.
func (l *monitoredConn) Close() error {
	l.of.mu.Lock()
	delete(l.of.conns, l)
	l.of.mu.Unlock()
	if err := l.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Read implements net.Conn.
func (l *monitoredConn) Read(into []byte) (n int, err error) {
	l.reading.begin()
	n, err = l.Conn.Read(into)
	l.reading.end()
	return n, l.wrap(err)
}

// Write implements net.Conn.
func (l *monitoredConn) Write(said []byte) (n int, err error) {
	l.writing.begin()
	n, err = l.Conn.Write(said)
	l.writing.end()
	return n, l.wrap(err)
}

func (l *monitoredConn) wrap(err error) error {
	if err != nil && l.cut.Load() {
		return errUnresponsive
	}
	return err
}

// identify records which process of which server serves a connection. asked is the process's own answer, with the
// server's start time. A pooler in between reports itself instead.
func identify(conn *pgconn.PgConn, asked [][]byte) {
	l := monitoredOf(conn)
	if l == nil {
		return
	}
	l.made.Store(true)
	if string(asked[0]) == strconv.FormatUint(uint64(conn.PID()), 10) {
		l.pid.Store(conn.PID())
		l.server = string(asked[1])
	}
}

func monitoredOf(conn *pgconn.PgConn) *monitoredConn {
	over := conn.Conn()
	if secure, is := over.(*tls.Conn); is {
		over = secure.NetConn()
	}
	l, _ := over.(*monitoredConn)
	return l
}
