package conns

import (
	"net"
	"sync"
	"time"
)

// deadlines are the deadlines of a connection. net/http sets a read deadline about eight times for each request,
// mostly while nothing is read. Only the last one before a read, or during one, is applied.
type deadlines struct {
	mu          sync.Mutex
	wanted, set time.Time // for reading
	reads       int       // in progress
	written     time.Time // when the peer's time to read the written data ends, zero for no limit
}

// SetReadDeadline implements net.Conn. It applies to a read in progress and to all later reads.
func (c *Conn) SetReadDeadline(at time.Time) error {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	c.deadlines.wanted = at
	if c.deadlines.reads == 0 {
		return nil
	}
	return c.deadlines.apply(c.Conn)
}

// apply requires mu.
func (d *deadlines) apply(conn net.Conn) error {
	if d.wanted.Equal(d.set) {
		return nil
	}
	if err := conn.SetReadDeadline(d.wanted); err != nil {
		return err
	}
	d.set = d.wanted
	return nil
}

// read reads under the requested deadline.
func (d *deadlines) read(conn net.Conn, p []byte) (int, error) {
	d.mu.Lock()
	if err := d.apply(conn); err != nil {
		d.mu.Unlock()
		return 0, err
	}
	d.reads++
	d.mu.Unlock()
	n, err := conn.Read(p)
	d.mu.Lock()
	d.reads--
	d.mu.Unlock()
	return n, err
}

// SetWriteDeadline implements net.Conn. It does nothing: each write has a separate deadline (allow), and net/http
// only clears it between writes.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn. It takes effect immediately, for a handler that takes over the connection.
func (c *Conn) SetDeadline(at time.Time) error {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	c.deadlines.wanted, c.deadlines.set, c.deadlines.written = at, at, at
	return c.Conn.SetDeadline(at)
}

// allow sets the peer's time for the next write. It reuses a recent deadline, which may be slightly shorter.
func (d *deadlines) allow(conn net.Conn, patience time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	const justNow = 16 // a fraction of the timeout
	at := time.Now().Add(patience)
	if later := at.Sub(d.written); later >= 0 && later < patience/justNow {
		return nil
	}
	d.written = at
	return conn.SetWriteDeadline(at)
}
