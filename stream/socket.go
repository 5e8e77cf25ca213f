package stream

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"harness/internal/lib/boottime"
)

const (
	// controlTimeout bounds the write of a control frame and of an unfinished frame before it.
	controlTimeout = 5 * time.Second
	// maxControlBytes bounds control frames queued behind a batch: a peer that floods pings without reading is disconnected.
	maxControlBytes = 8 << 10
	// closeGrace is how long a close frame may wait behind a batch after the library closed the connection.
	closeGrace = time.Second
	opcodeMask = 0x0f
	// The library's buffers: clients send little, and it writes control frames only.
	readBuffer, writeBuffer = 512, 256
	opClose                 = 0x08
)

// socket is the network connection under a websocket. The library reads and writes control frames through it; event
// frames bypass the library, many in one system call that does not block. The socket keeps the two apart: it finishes
// a frame before the next one, and sends nothing after a close frame.
type socket struct {
	net.Conn
	direct   *direct // nil when frames cannot bypass the connection, as under TLS
	stall    time.Duration
	inbound  *inbound
	lastMove atomic.Int64 // time of the last received byte or sent event frame, in ns of boottime
	held     bool         // Write left the connection busy for Wait; only the event writer uses it

	mu       sync.Mutex
	idle     sync.Cond
	busy     bool
	controls []byte // control frames that wait for the end of the current batch
	rest     []byte // the rest of an unfinished frame or joined batch
	closing  bool   // a close frame was written or is in controls
	closed   bool
	grace    *time.Timer
}

func newSocket(conn net.Conn, stall time.Duration, memory *vectors, limits *intakeLimits) *socket {
	s := &socket{Conn: conn, direct: newDirect(conn, memory), stall: stall, inbound: newInbound(conn, limits)}
	s.idle.L = &s.mu
	s.moved()
	return s
}

// hijacker gives the library a socket instead of the bare connection.
type hijacker struct {
	http.ResponseWriter
	stall  time.Duration
	memory *vectors
	limits *intakeLimits
	socket *socket
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	h.socket = newSocket(bare(conn), h.stall, h.memory, h.limits)
	// Bytes sent along with the handshake are in net/http's 4 KiB buffer; ours is smaller and replaces it.
	if n := buffered.Reader.Buffered(); n > 0 {
		early, _ := buffered.Peek(n) // cannot fail: the bytes are buffered
		h.socket.inbound.early = append([]byte(nil), early...)
	}
	return h.socket, bufio.NewReadWriter(bufio.NewReaderSize(h.socket, readBuffer),
		bufio.NewWriterSize(h.socket, writeBuffer)), nil
}

// bare removes wrappers that only HTTP needs: through them a batch would cost one system call per frame.
func bare(conn net.Conn) net.Conn {
	for {
		wrapper, is := conn.(interface{ Unwrap() net.Conn })
		if !is {
			return conn
		}
		conn = wrapper.Unwrap()
	}
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.inbound.read(p)
	if n > 0 {
		s.moved()
	}
	return n, err //nolint:wrapcheck // callers match the library's errors
}

// Write implements net.Conn for the library: one whole control frame per call. It queues the frame while a batch is
// being written.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	if s.closed || s.closing {
		s.mu.Unlock()
		return 0, net.ErrClosed
	}
	asked := len(p)
	if s.closing = len(p) > 0 && p[0]&opcodeMask == opClose; s.closing {
		p = closeFrame(p)
		s.inbound.closeSent()
	}
	if s.busy {
		defer s.mu.Unlock()
		if len(s.controls)+len(p) > maxControlBytes {
			return 0, errTooFast
		}
		s.controls = append(s.controls, p...)
		return asked, nil
	}
	s.busy = true
	s.mu.Unlock()
	err := s.push(p)
	s.release()
	if err != nil {
		return 0, err
	}
	return asked, nil
}

// WriteMessages passes whole frames to the system, as many as it accepts at once. A partly written frame counts, and
// Wait sends the remainder.
func (s *socket) WriteMessages(messages []*Message) (sent int, full bool, err error) {
	s.mu.Lock()
	switch {
	case s.closed || s.closing:
		s.mu.Unlock()
		return 0, false, net.ErrClosed
	case s.busy, len(s.rest) > 0: // with a control frame or an unfinished one
		s.mu.Unlock()
		return 0, true, nil
	}
	s.busy = true
	s.mu.Unlock()

	var rest []byte
	if s.direct == nil {
		rest, sent = joined(messages), len(messages)
	} else {
		sent, rest, err = s.direct.write(messages)
	}
	if err != nil {
		s.release()
		return 0, false, err
	}
	s.moved()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest = rest; len(rest) > 0 || len(s.controls) > 0 || s.grace != nil {
		s.held = true
		return sent, true, nil
	}
	s.busy = false
	s.idle.Broadcast()
	return sent, false, nil
}

// WaitWritten sends the rest of a frame and the control frames after it. It continues as long as the peer accepts
// bytes. It returns ErrStalled if the peer accepts none within the stall limit. It finishes the frame before the next
// control frame.
func (s *socket) WaitWritten() error {
	s.mu.Lock()
	for !s.held && s.busy {
		s.idle.Wait()
	}
	if !s.held && s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.held, s.busy = false, true
	left := s.rest
	s.rest = nil
	s.mu.Unlock()
	defer s.release()

	progress := time.Now()
	for len(left) > 0 {
		// Checked more often than the limit requires: a connection may accept bytes without a report from the system.
		// TLS cannot continue after a deadline. There the deadline is the whole limit, for each record.
		patience, delta := max(s.stall/4, time.Millisecond), left
		if s.direct == nil {
			patience, delta = s.stall, left[:min(len(left), 16<<10)]
		}
		if err := s.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err //nolint:wrapcheck // the connection is gone; no caller inspects the cause
		}
		n, err := s.Conn.Write(delta)
		left = left[n:]
		if n > 0 {
			progress = time.Now()
			s.moved()
		}
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err //nolint:wrapcheck // see above
		case time.Since(progress) >= s.stall:
			s.mu.Lock()
			s.rest = left
			s.mu.Unlock()
			return ErrStalled
		}
	}
	// The next batch needs no deadline, since its write does not block.
	return s.SetWriteDeadline(time.Time{}) //nolint:wrapcheck // see above
}

func (s *socket) moved() { s.lastMove.Store(int64(boottime.Now())) }

// push writes the rest of a stalled frame and then p; the caller holds busy. Bytes that it cannot write within the time
// limit stay in rest.
func (s *socket) push(p []byte) error {
	s.mu.Lock()
	rest := s.rest
	s.rest = nil
	s.mu.Unlock()
	if len(rest) > 0 {
		p = append(rest[:len(rest):len(rest)], p...)
	}
	if err := s.SetWriteDeadline(time.Now().Add(controlTimeout)); err != nil {
		return err //nolint:wrapcheck // callers match the library's errors
	}
	if n, err := s.Conn.Write(p); err != nil {
		s.mu.Lock()
		s.rest = p[n:len(p):len(p)]
		s.mu.Unlock()
		return err //nolint:wrapcheck // callers match the library's errors
	}
	return s.SetWriteDeadline(time.Time{}) //nolint:wrapcheck // callers match the library's errors
}

// release frees the connection for the next writer, after the queued control frames.
func (s *socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.controls) > 0 && len(s.rest) == 0 && !s.closed {
		waiting := s.controls
		s.controls = nil
		s.mu.Unlock()
		err := s.push(waiting)
		s.mu.Lock()
		if err != nil {
			break
		}
	}
	s.busy = false
	s.idle.Broadcast()
	if s.grace != nil {
		_ = s.shut()
	}
}

// Close implements net.Conn. A close frame that is being written or queued gets a short time to be sent.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.grace != nil {
		return nil
	}
	if !s.busy || !s.closing {
		return s.shut()
	}
	s.grace = time.AfterFunc(closeGrace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.shut()
	})
	return nil
}

// shut closes the connection; s.mu is held.
func (s *socket) shut() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.grace != nil {
		s.grace.Stop()
	}
	conn := s.Conn
	// TLS would first send its alert, and wait seconds for a peer that has not read the earlier bytes.
	if secure, is := conn.(interface{ NetConn() net.Conn }); is && len(s.rest) > 0 {
		conn = secure.NetConn()
	}
	return conn.Close() //nolint:wrapcheck // callers match the library's errors
}

// joined returns the bytes of all messages, for a connection that cannot write many buffers at once.
func joined(messages []*Message) []byte {
	size := 0
	for _, message := range messages {
		size += len(message.wire)
	}
	all := make([]byte, 0, size)
	for _, message := range messages {
		all = append(all, message.wire...)
	}
	return all
}
