package conns

import (
	"net"
	"sync"
	"time"
)

// deadlines are those of a connection. net/http sets a reading deadline some eight times for a request, most of them
// while nothing is read: only the last one before a read, or during one, reaches the connection.
type deadlines struct {
	mu          sync.Mutex
	wanted, set time.Time // for reading
	reads       int       // under way
	written     time.Time // until when the peer has time for what is written, zero for ever
}

// SetReadDeadline implements net.Conn. It holds from the next read on, and for one that is under way.
func (c *Conn) SetReadDeadline(at time.Time) error {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	c.deadlines.wanted = at
	if c.deadlines.reads == 0 {
		return nil
	}
	return c.deadlines.apply(c.Conn)
}

// apply wants mu held.
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

// read reads under the deadline wanted.
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

// SetWriteDeadline implements net.Conn. There is nothing to do: each write has its own deadline (allow), and net/http
// only lifts it between two.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn: at once, for who takes the connection over.
func (c *Conn) SetDeadline(at time.Time) error {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	c.deadlines.wanted, c.deadlines.set, c.deadlines.written = at, at, at
	return c.Conn.SetDeadline(at)
}

// allow gives the peer time for the next write, or a little less: a deadline set just now is as good as another.
func (d *deadlines) allow(conn net.Conn, patience time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	const justNow = 16 // a part of patience
	at := time.Now().Add(patience)
	if later := at.Sub(d.written); later >= 0 && later < patience/justNow {
		return nil
	}
	d.written = at
	return conn.SetWriteDeadline(at)
}
