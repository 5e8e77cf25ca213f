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
)

const (
	// controlTimeout bounds the writing of a control frame, and of what is left of a frame before it.
	controlTimeout = 5 * time.Second
	// maxControlBytes bounds control frames waiting behind a batch: a peer that floods pings without reading is cut off.
	maxControlBytes = 8 << 10
	// closeGrace is how long a close frame may wait behind a batch once the library wants the connection gone.
	closeGrace = time.Second
	opcodeMask = 0x0f
	opClose    = 0x08
)

// socket is the network connection under a websocket. The library reads and writes control frames through it; event frames are written
// past the library, many in one system call. It keeps the two apart: a frame once begun is finished before another starts, and nothing
// follows a close frame.
type socket struct {
	net.Conn
	stall    time.Duration
	lastMove atomic.Int64 // when the last byte came in, or event frames last went out: ns since the epoch

	mu       sync.Mutex
	idle     sync.Cond
	busy     bool
	controls []byte // control frames that wait for the batch being written
	rest     []byte // what is left of a frame whose writing stalled
	closing  bool   // a close frame was written or is in controls
	closed   bool
	grace    *time.Timer
	buffers  net.Buffers
}

func newSocket(conn net.Conn, stall time.Duration) *socket {
	// Many frames leave in one system call only through the bare connection; a wrapper of the HTTP server's has nothing to do any more.
	for {
		wrapper, wraps := conn.(interface{ Unwrap() net.Conn })
		if !wraps {
			break
		}
		conn = wrapper.Unwrap()
	}
	s := &socket{Conn: conn, stall: stall}
	s.idle.L = &s.mu
	s.moved()
	return s
}

// hijacker hands the library a socket in place of the bare connection.
type hijacker struct {
	http.ResponseWriter
	stall  time.Duration
	socket *socket
	reader *bufio.Reader // what the library reads from
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	h.socket, h.reader = newSocket(conn, h.stall), buffered.Reader
	// The library writes control frames only: a small buffer is enough.
	return h.socket, bufio.NewReadWriter(buffered.Reader, bufio.NewWriterSize(h.socket, 256)), nil
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 {
		s.moved()
	}
	return n, err //nolint:wrapcheck // the library tells errors apart
}

// Write implements net.Conn for the library: one whole control frame per call. Behind a batch being written it is queued.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	if s.closed || s.closing {
		s.mu.Unlock()
		return 0, net.ErrClosed
	}
	asked := len(p)
	if s.closing = len(p) > 0 && p[0]&opcodeMask == opClose; s.closing {
		p = closeFrame(p)
	}
	if s.busy {
		defer s.mu.Unlock()
		if len(s.controls)+len(p) > maxControlBytes {
			return 0, errors.New("too many control frames wait for a peer that does not read")
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

// WriteMessages writes whole frames. It goes on as long as the peer takes anything, and returns ErrStalled when it took nothing for the
// stall limit; a frame begun is then finished before the next control frame.
func (s *socket) WriteMessages(messages []*Message) error {
	s.mu.Lock()
	for s.busy {
		s.idle.Wait()
	}
	if s.closed || s.closing {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.busy = true
	s.mu.Unlock()
	defer s.release()

	all := s.buffers[:0]
	for _, message := range messages {
		all = append(all, message.Websocket())
	}
	s.buffers = all
	defer clear(all)
	left := all
	progress := time.Now()
	for len(left) > 0 {
		if err := s.SetWriteDeadline(time.Now().Add(max(s.stall/4, time.Millisecond))); err != nil {
			return err //nolint:wrapcheck // the connection is gone; nobody tells why apart
		}
		n, err := left.WriteTo(s.Conn)
		if n > 0 {
			progress = time.Now()
		}
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err //nolint:wrapcheck // see above
		case time.Since(progress) >= s.stall:
			if first := len(messages) - len(left); len(left[0]) < len(messages[first].Websocket()) {
				s.mu.Lock()
				s.rest = append([]byte(nil), left[0]...)
				s.mu.Unlock()
			}
			return ErrStalled
		}
	}
	s.moved()
	return nil
}

func (s *socket) moved() { s.lastMove.Store(time.Now().UnixNano()) }

// push writes what is left of a stalled frame and then p; the caller holds busy.
func (s *socket) push(p []byte) error {
	s.mu.Lock()
	rest := s.rest
	s.rest = nil
	s.mu.Unlock()
	if len(rest) > 0 {
		p = append(rest, p...)
	}
	if err := s.SetWriteDeadline(time.Now().Add(controlTimeout)); err != nil {
		return err //nolint:wrapcheck // the library tells errors apart
	}
	_, err := s.Conn.Write(p)
	return err //nolint:wrapcheck // the library tells errors apart
}

// release gives the connection to the next writer, after the control frames that waited.
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

// Close implements net.Conn. A close frame that waits behind a batch gets a moment to leave.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.grace != nil {
		return nil
	}
	if s.busy && s.closing && len(s.controls) > 0 {
		s.grace = time.AfterFunc(closeGrace, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			_ = s.shut()
		})
		return nil
	}
	return s.shut()
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
	return s.Conn.Close() //nolint:wrapcheck // the library tells errors apart
}

// abort closes the connection at once.
func (s *socket) abort() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut()
}
