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
	// silence is how long a connection may be waited for before it is looked whether there is anything to wait for. No
	// time-out of Postgres reaches us over a network that swallows packets, nor one of the kernel's when it is a proxy in
	// between that does.
	silence = 3 * time.Second
	// lookTimeout bounds that look, handshake the making of a connection unless DATABASE_URL does (connect_timeout).
	lookTimeout = 3 * time.Second
	handshake   = 5 * time.Second
)

// errUnresponsive ends a connection nothing can come from any more.
var errUnresponsive = errors.New("the database, or the network to it, does not answer")

// waitForStandby is where Postgres says, in a warning beside a commit that it acknowledges, that it gave up waiting for
// the standby. Its words are in the language of the server.
const waitForStandby = "SyncRepWaitForLSN"

// errUnwaited says that of a commit.
var errUnwaited = errors.New("the waiting for the synchronous standby was broken off at the server")

// connWatchdog asks Postgres, over connections of its own, about connections that are silent.
type connWatchdog struct {
	dial   pgconn.DialFunc
	config *pgx.ConnConfig // for connections that are not looked after
	ctx    context.Context //nolint:containedctx // it ends with the pools
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	lines   map[*monitoredConn]struct{} // that are open
	dialing map[*dialing]struct{}
	looking sync.WaitGroup
	// unresponsive are addresses that do not answer: no connection is made to them until they do.
	unresponsive map[address]struct{}
}

// guard has every connection that is made with a configuration looked after.
func guard(config *pgx.ConnConfig) *connWatchdog {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = handshake
	}
	o := &connWatchdog{dial: config.DialFunc, config: config.Copy(), lines: map[*monitoredConn]struct{}{},
		dialing: map[*dialing]struct{}{}, unresponsive: map[address]struct{}{}}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	config.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if l := lineOf(conn); l != nil && notice.Routine == waitForStandby {
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
			w.timer = time.AfterFunc(silence, func() { o.look(l, w) })
			w.timer.Stop()
		}
		o.mu.Lock()
		o.lines[l] = struct{}{}
		o.mu.Unlock()
		return l, nil
	}
	return o
}

// cutIdle cuts idle connections: one was unresponsive, and closing each gracefully would take seconds.
func (o *connWatchdog) cutIdle() {
	o.cutThose(func(l *monitoredConn) bool { return l.reading.round.Load()%2 == 0 && l.writing.round.Load()%2 == 0 })
}

// cutThose cuts open lines.
func (o *connWatchdog) cutThose(which func(l *monitoredConn) bool) {
	o.mu.Lock()
	var useless []*monitoredConn
	for l := range o.lines {
		if which(l) {
			useless = append(useless, l)
		}
	}
	o.mu.Unlock()
	for _, l := range useless {
		l.giveUp()
	}
}

// close waits for looks under way.
func (o *connWatchdog) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.cancel()
	o.looking.Wait()
}

// look cuts a line that is waited for in vain.
func (o *connWatchdog) look(l *monitoredConn, w *wait) {
	if !o.enter() {
		return
	}
	defer o.looking.Done()
	round := w.round.Load()
	if round%2 == 0 {
		return // it came just now
	}
	works := o.works(l)
	switch {
	case w.round.Load() != round || o.ctx.Err() != nil:
	case works:
		w.timer.Reset(silence)
	default:
		l.giveUp()
	}
}

// enter is false once this is closed; looking.Done is due else.
func (o *connWatchdog) enter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.looking.Add(1)
	}
	return !o.closed
}

// works asks the Postgres of a connection whether it works for its process. It does not when the process is
// gone or waits for its client, or when Postgres does not answer, which is remembered. One that answers with a
// refusal cannot be asked.
func (o *connWatchdog) works(l *monitoredConn) bool {
	ctx, cancel := context.WithTimeout(o.ctx, lookTimeout)
	defer cancel()
	conn, answers, err := o.ask(ctx, l.to)
	if !answers && o.ctx.Err() == nil {
		o.markUnresponsive(l.to)
	}
	if err != nil {
		return errors.As(err, new(*pgconn.PgError))
	}
	defer func() { _ = conn.Close(ctx) }()
	pid := l.pid.Load()
	if pid == 0 {
		return true // it is not known yet
	}
	results, err := conn.Exec(ctx, `select count(*) from pg_stat_activity where pid = `+
		strconv.FormatUint(uint64(pid), 10)+
		` and state = 'active' and wait_event_type is distinct from 'Client'`).ReadAll()
	if err != nil {
		return errors.As(err, new(*pgconn.PgError))
	}
	return string(results[0].Rows[0][0]) != "0"
}

// ask connects to one address only, of those that DATABASE_URL names, whether or not it accepts writes. answers
// is false when ctx ended without any reply: being refused, or cut off, is an answer.
func (o *connWatchdog) ask(ctx context.Context, at address) (conn *pgconn.PgConn, answers bool, err error) {
	config := o.config.Copy()
	config.ConnectTimeout = 0 // ctx bounds it
	config.ValidateConnect = nil
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.dial(ctx, at.network, at.at) }
	conn, err = pgconn.ConnectConfig(ctx, &config.Config)
	return conn, err == nil || ctx.Err() == nil, err
}
