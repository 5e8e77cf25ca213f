package stream

import (
	"errors"
	"io"
	"net"
	"sync/atomic"

	"github.com/coder/websocket"

	"harness/internal/lib/boottime"
)

// websocketConn is a Conn over a websocket. The library does the handshake, reading, pongs and the closing handshake.
type websocketConn struct {
	ws     *websocket.Conn
	socket *socket
	pinged atomic.Int64
}

// Write implements Conn.
func (w *websocketConn) Write(messages []*Message) (sent int, full bool, err error) {
	return w.socket.WriteMessages(messages)
}

// Wait implements Conn.
func (w *websocketConn) Wait() error { return w.socket.WaitWritten() }

// Ping implements Conn. Browsers answer it without notifying the page.
func (w *websocketConn) Ping() {
	w.pinged.Store(int64(boottime.Now()))
	// An unmasked ping without payload. Alive or the next batch detects a connection that cannot accept it.
	_, _ = w.socket.Write([]byte{0x89, 0})
}

// Alive implements Conn: any byte since the ping is a sign of life, and so are frames that the peer accepted. A slow
// reader's pong may be far behind those frames, and a dead peer soon stops accepting.
func (w *websocketConn) Alive() bool { return w.socket.lastMove.Load() >= w.pinged.Load() }

// Close implements Conn. The library waits up to five seconds for the peer's close frame, and keeps reading. Closing
// with unread data would reset the connection and discard our close frame.
func (w *websocketConn) Close(code int, reason string) {
	_ = w.ws.Close(websocket.StatusCode(code), reason)
}

// Abort implements Conn.
func (w *websocketConn) Abort() {
	_ = w.socket.Close() // the library does not close it while waiting for the peer
	_ = w.ws.CloseNow()
}

// readFailure returns the close code for a peer after a failed read, 0 if the connection is broken or closed properly.
// label is for the metrics.
func readFailure(err error) (code int, reason, label string) {
	var network net.Error
	switch {
	case errors.Is(err, errUTF8):
		return closeUTF8, errUTF8.Error(), "protocol"
	case errors.Is(err, websocket.ErrMessageTooBig):
		return closeTooBig, "message too big", "too_big"
	case errors.Is(err, errTooFast):
		return closePolicy, errTooFast.Error(), "rate"
	case errors.Is(err, errUnfinished):
		return closePolicy, errUnfinished.Error(), "unfinished"
	case errors.Is(err, errBusy):
		return closeBusy, errBusy.Error(), "memory"
	case websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.As(err, &network):
		return 0, "", ""
	default:
		return closeProtocol, "protocol error", "protocol"
	}
}
