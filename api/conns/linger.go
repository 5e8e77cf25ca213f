package conns

import "time"

// lingerPause is how long a lingering connection waits for the next bytes of its peer.
const lingerPause = 5 * time.Second

// lingerChunk is how much a lingering connection reads at once, in bytes.
const lingerChunk = 16 << 10

// CloseWrite implements net/http's half close after a response to a body that is too long.
func (c *Conn) CloseWrite() error {
	err := c.halfClose()
	c.linger()
	return err
}

// Close implements net.Conn. A peer may still be sending a request that has its response already: the connection
// lingers, because a reset would discard the response before the peer reads it.
func (c *Conn) Close() error {
	if c.unread.Load() {
		_ = c.halfClose() // the connection closes in any case
		c.linger()
	}
	return c.Conn.Close()
}

// halfClose lets the peer see the end of the response.
func (c *Conn) halfClose() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}

// linger discards what the peer still sends, once, until the peer closes. It ends after BodyTimeout, after a pause of
// lingerPause, or when the limiter stops. net/http reads 256 KiB at most, and lingers only in some cases.
func (c *Conn) linger() {
	if c.lingering.Swap(true) || c.limiter.stopping.Load() {
		return
	}
	end := time.Now().Add(c.limiter.opts.BodyTimeout)
	for rest := make([]byte, lingerChunk); ; {
		at := time.Now().Add(lingerPause)
		if end.Before(at) {
			at = end
		}
		if err := c.Conn.SetReadDeadline(at); err != nil {
			return
		}
		if _, err := c.Conn.Read(rest); err != nil {
			return
		}
	}
}
