package database

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
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

// errSilent ends a connection nothing can come from any more.
var errSilent = errors.New("the database, or the network to it, does not answer")

// waitForStandby is where Postgres says, in a warning beside a commit that it acknowledges, that it gave up waiting for
// the standby. Its words are in the language of the server.
const waitForStandby = "SyncRepWaitForLSN"

// errUnwaited says that of a commit.
var errUnwaited = errors.New("the waiting for the synchronous standby was broken off at the server")

// lookout asks Postgres, over connections of its own, about connections that are silent.
type lookout struct {
	config *pgx.ConnConfig
	ctx    context.Context //nolint:containedctx // it ends with the pools
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	lines   map[*line]struct{} // that are open
	looking sync.WaitGroup
	// away says that Postgres did not answer the last look, and nobody else since; dialed is when somebody tried an
	// address last.
	away   bool
	dialed map[string]time.Time
}

// again is how often somebody tries whether a Postgres answers that did not; all others are refused at once.
const again = time.Second

// mayDial tells whether to make a connection to an address. Each has its turn: of several the first may be a standby.
func (o *lookout) mayDial(address string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away && time.Since(o.dialed[address]) < again {
		return false
	}
	o.dialed[address] = time.Now()
	return true
}

func (o *lookout) setAway(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
}

// guard has every connection that is made with a configuration looked after.
func guard(config *pgx.ConnConfig) *lookout {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = handshake
	}
	o := &lookout{config: config.Copy(), lines: map[*line]struct{}{}, dialed: map[string]time.Time{}}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	config.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if l := lineOf(conn); l != nil && notice.Routine == waitForStandby {
			l.unwaited.Store(true)
		}
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !o.mayDial(address) {
			return nil, errSilent
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l := &line{Conn: conn, of: o}
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

// cutIdle cuts the lines nobody waits for: one was silent, and to say goodbye over those that are takes seconds each.
func (o *lookout) cutIdle() {
	o.mu.Lock()
	var idle []*line
	for l := range o.lines {
		if l.reading.round.Load()%2 == 0 && l.writing.round.Load()%2 == 0 {
			idle = append(idle, l)
		}
	}
	o.mu.Unlock()
	for _, l := range idle {
		l.cut.Store(true)
		_ = l.Close() // it is of no use
	}
}

// close waits for looks under way.
func (o *lookout) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.cancel()
	o.looking.Wait()
}

// look cuts a line that is waited for in vain.
func (o *lookout) look(l *line, w *wait) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	o.looking.Add(1)
	o.mu.Unlock()
	defer o.looking.Done()
	round := w.round.Load()
	if round%2 == 0 {
		return // it came just now
	}
	ctx, cancel := context.WithTimeout(o.ctx, lookTimeout)
	defer cancel()
	works := o.works(ctx, l.pid.Load())
	switch {
	case w.round.Load() != round || o.ctx.Err() != nil:
	case works:
		w.timer.Reset(silence)
	default:
		l.cut.Store(true)
		_ = l.Close() // whoever waits hears of it
	}
}

// works tells whether Postgres works for a process of its own (0 when it is not known which): not when that is gone or
// waits for its client, and not when Postgres does not answer. One that answers with a refusal cannot be asked.
func (o *lookout) works(ctx context.Context, pid uint32) bool {
	conn, err := pgconn.ConnectConfig(ctx, &o.config.Config)
	if away := err != nil && !errors.As(err, new(*pgconn.PgError)); away || err != nil {
		o.setAway(away && o.ctx.Err() == nil)
		return !away
	}
	defer func() { _ = conn.Close(ctx) }()
	if pid == 0 {
		return true
	}
	results, err := conn.Exec(ctx, `select count(*) from pg_stat_activity where pid = `+
		strconv.FormatUint(uint64(pid), 10)+
		` and state = 'active' and wait_event_type is distinct from 'Client'`).ReadAll()
	if err != nil {
		return errors.As(err, new(*pgconn.PgError))
	}
	return string(results[0].Rows[0][0]) != "0"
}

// line is a connection's way to Postgres.
type line struct {
	net.Conn
	of *lookout
	// pid is the process that serves the connection, 0 as long as it is not known.
	pid atomic.Uint32
	// server is when the server was started, "" when it is not known; set before the connection is used.
	server string
	cut    atomic.Bool
	// unwaited: a commit was acknowledged whose waiting for the standby had been broken off.
	unwaited         atomic.Bool
	reading, writing wait
}

// wait is somebody's waiting for a line: round is odd while it lasts.
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

// Close implements net.Conn. Closing a line that was cut is no error.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.lines, l)
	l.of.mu.Unlock()
	if err := l.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Read implements net.Conn.
func (l *line) Read(into []byte) (n int, err error) {
	l.reading.begin()
	n, err = l.Conn.Read(into)
	l.reading.end()
	return n, l.told(err)
}

// Write implements net.Conn.
func (l *line) Write(said []byte) (n int, err error) {
	l.writing.begin()
	n, err = l.Conn.Write(said)
	l.writing.end()
	return n, l.told(err)
}

func (l *line) told(err error) error {
	if err != nil && l.cut.Load() {
		return errSilent
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
	l.of.setAway(false)
	if string(asked[0]) == strconv.FormatUint(uint64(conn.PID()), 10) {
		l.pid.Store(conn.PID())
		l.server = string(asked[1])
	}
}

func lineOf(conn *pgconn.PgConn) *line {
	over := conn.Conn()
	if secure, is := over.(*tls.Conn); is {
		over = secure.NetConn()
	}
	l, _ := over.(*line)
	return l
}
