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

// monitoredConn is a connection's way to Postgres.
type monitoredConn struct {
	net.Conn
	of *connWatchdog
	to address
	// pid is the process that serves the connection, 0 as long as it is not known.
	pid atomic.Uint32
	// server is when the server was started, "" when it is not known; set before the connection is used.
	server string
	cut    atomic.Bool
	// made: the connection is, not only its line.
	made atomic.Bool
	// unwaited: a commit was acknowledged whose waiting for the standby had been broken off.
	unwaited         atomic.Bool
	reading, writing wait
}

// wait is a caller waiting on a connection: round is odd while it lasts.
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

// giveUp cuts an unusable connection; its waiting caller gets errUnresponsive.
func (l *monitoredConn) giveUp() {
	l.cut.Store(true)
	_ = l.Close() // nothing is said over it any more
}

// Close implements net.Conn. Closing a line that was cut is no error.
func (l *monitoredConn) Close() error {
	l.of.mu.Lock()
	delete(l.of.lines, l)
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

// identify notes which process of which server serves a connection; asked is what it calls itself, and when the server
// was started. A pooler in between gives itself out for one.
func identify(conn *pgconn.PgConn, asked [][]byte) {
	l := lineOf(conn)
	if l == nil {
		return
	}
	l.made.Store(true)
	if string(asked[0]) == strconv.FormatUint(uint64(conn.PID()), 10) {
		l.pid.Store(conn.PID())
		l.server = string(asked[1])
	}
}

func lineOf(conn *pgconn.PgConn) *monitoredConn {
	over := conn.Conn()
	if secure, is := over.(*tls.Conn); is {
		over = secure.NetConn()
	}
	l, _ := over.(*monitoredConn)
	return l
}
