package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// alertRecord is the length of a TLS 1.3 record with an alert: level, description, type, and the seal. The settings
// that an HTTP/2 server sends first are longer.
const alertRecord = 2 + 1 + 16

// peeked is a connection whose next bytes can be read without consuming them.
type peeked struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (p *peeked) Read(data []byte) (int, error) { return p.reader.Read(data) }

// dial connects to a node and waits for its first byte. In TLS 1.3 the client finishes the handshake before the server
// has checked its certificate. The server could refuse a request sent at once by closing the connection, and the caller
// would not know that it had no effect.
func dial(ctx context.Context, address string, settings *tls.Config) (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, raw.Close())
		}
	}()
	under := &peeked{raw, bufio.NewReader(raw)}
	secured := tls.Client(under, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if err := raw.SetReadDeadline(time.Now().Add(handshake)); err != nil {
		return nil, err
	}
	head, err := under.reader.Peek(5) // type, version, length
	if err != nil {
		return nil, fmt.Errorf("it ended the connection at once: %w", err)
	}
	if binary.BigEndian.Uint16(head[3:]) <= alertRecord {
		_, err := secured.Read(make([]byte, 1))
		return nil, fmt.Errorf("it did not take this node's certificate: %w", err)
	}
	return secured, raw.SetReadDeadline(time.Time{})
}
