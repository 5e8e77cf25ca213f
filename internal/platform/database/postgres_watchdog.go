package database

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// silence is how long a caller may wait on a connection before the watchdog asks Postgres whether it still works.
	// No timeout of Postgres reaches us over a network that drops packets. The kernel's timeouts do not help if a proxy
	// drops them.
	silence = 3 * time.Second
	// probeTimeout bounds that probe. handshake bounds opening a connection, unless DATABASE_URL does
	// (connect_timeout).
	probeTimeout = 3 * time.Second
	handshake    = 5 * time.Second
)

// errUnresponsive ends a connection that no longer works.
var errUnresponsive = errors.New("the database, or the network to it, does not answer")

// waitForStandby identifies the warning of an acknowledged commit that Postgres stopped waiting for the standby. Its
// text is in the server's language.
const waitForStandby = "SyncRepWaitForLSN"

// errUnwaited is the error for such a commit.
var errUnwaited = errors.New("the server stopped waiting for the synchronous standby")

// connWatchdog asks Postgres, over separate connections, about unresponsive connections.
type connWatchdog struct {
	dial   pgconn.DialFunc
	config *pgx.ConnConfig // for connections without monitoring
	ctx    context.Context //nolint:containedctx // it ends with the pools
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	conns   map[*monitoredConn]struct{} // the open connections
	dialing map[*dialing]struct{}
	probes  sync.WaitGroup
	// unresponsive are addresses that do not answer. No connection is made to them until they do.
	unresponsive map[address]struct{}
}

// guard monitors every connection opened with a configuration.
func guard(config *pgx.ConnConfig) *connWatchdog {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = handshake
	}
	o := &connWatchdog{dial: config.DialFunc, config: config.Copy(), conns: map[*monitoredConn]struct{}{},
		dialing: map[*dialing]struct{}{}, unresponsive: map[address]struct{}{}}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	config.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if l := monitoredOf(conn); l != nil && notice.Routine == waitForStandby {
			l.unwaited.Store(true)
		}
	}
	o.config.DialFunc = o.dialUnlessUnresponsive
	config.DialFunc = func(ctx context.Context, network, at string) (net.Conn, error) {
		conn, err := o.dialUnlessUnresponsive(ctx, network, at)
		if err != nil {
			return nil, err
		}
		l := &monitoredConn{Conn: conn, of: o, to: address{network, at}}
		for _, w := range []*wait{&l.reading, &l.writing} {
			w.timer = time.AfterFunc(silence, func() { o.check(l, w) })
			w.timer.Stop()
		}
		o.mu.Lock()
		o.conns[l] = struct{}{}
		o.mu.Unlock()
		return l, nil
	}
	return o
}

// cutIdle closes idle connections abruptly: one was unresponsive, and closing each gracefully would take seconds.
func (o *connWatchdog) cutIdle() {
	o.cutThose(func(l *monitoredConn) bool { return l.reading.round.Load()%2 == 0 && l.writing.round.Load()%2 == 0 })
}

// cutThose abandons the open connections that which selects.
func (o *connWatchdog) cutThose(which func(l *monitoredConn) bool) {
	o.mu.Lock()
	var useless []*monitoredConn
	for l := range o.conns {
		if which(l) {
			useless = append(useless, l)
		}
	}
	o.mu.Unlock()
	for _, l := range useless {
		l.abandon()
	}
}

// close waits for running probes.
func (o *connWatchdog) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.cancel()
	o.probes.Wait()
}

// check abandons a connection that will never answer its waiting caller.
func (o *connWatchdog) check(l *monitoredConn, w *wait) {
	if !o.enter() {
		return
	}
	defer o.probes.Done()
	round := w.round.Load()
	if round%2 == 0 {
		return // the answer has just arrived
	}
	works := o.works(l)
	switch {
	case w.round.Load() != round || o.ctx.Err() != nil:
	case works:
		w.timer.Reset(silence)
	default:
		l.abandon()
	}
}

// enter returns false once the watchdog is closed; otherwise the caller must call probes.Done.
func (o *connWatchdog) enter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.probes.Add(1)
	}
	return !o.closed
}

// works asks Postgres whether the process of a connection is working. It is not if the process is gone or waits for its
// client. It also is not if Postgres does not answer, which works records. A Postgres that refuses the probe counts as
// working.
func (o *connWatchdog) works(l *monitoredConn) bool {
	ctx, cancel := context.WithTimeout(o.ctx, probeTimeout)
	defer cancel()
	conn, answers, err := o.probe(ctx, l.to)
	if !answers && o.ctx.Err() == nil {
		o.markUnresponsive(l.to)
	}
	if err != nil {
		return errors.As(err, new(*pgconn.PgError))
	}
	defer func() { _ = conn.Close(ctx) }()
	pid := l.pid.Load()
	if pid == 0 {
		return true // the process is not known yet
	}
	results, err := conn.Exec(ctx, `select count(*) from pg_stat_activity where pid = `+
		strconv.FormatUint(uint64(pid), 10)+
		` and state = 'active' and wait_event_type is distinct from 'Client'`).ReadAll()
	if err != nil {
		return errors.As(err, new(*pgconn.PgError))
	}
	return string(results[0].Rows[0][0]) != "0"
}

// probe connects to only one of the addresses in DATABASE_URL, whether or not the server there accepts writes. answers
// is false if ctx ended without any reply. A refused or broken connection is a reply.
func (o *connWatchdog) probe(ctx context.Context, at address) (conn *pgconn.PgConn, answers bool, err error) {
	config := o.config.Copy()
	config.ConnectTimeout = 0 // ctx bounds it
	config.ValidateConnect = nil
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.dial(ctx, at.network, at.at) }
	conn, err = pgconn.ConnectConfig(ctx, &config.Config)
	return conn, err == nil || ctx.Err() == nil, err
}
