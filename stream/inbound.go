package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// libraryCloseWait is how long the library waits for the peer's answer to a close frame.
const libraryCloseWait = 5 * time.Second

const sinkBuffer = 16 << 10

// inbound is the reading side of a socket: it enforces the peer's rate and the time limit of a message.
type inbound struct {
	conn     net.Conn
	early    []byte // bytes that arrived with the handshake
	intake   intake // owned by the reader, like fault, reported and sink
	fault    error
	reported bool   // the fault was returned to the library
	sink     []byte // for bytes that are discarded
	// payload counts the message bytes returned, so that the reader of a message knows how many to read. The library's
	// buffer has that number too, but another goroutine owns it during a close.
	payload atomic.Int64

	mu       sync.Mutex
	deadline time.Time
	closing  bool // our close frame was sent, and the deadline belongs to it
}

func newInbound(conn net.Conn, limits *intakeLimits) *inbound {
	return &inbound{conn: conn, intake: newIntake(limits, time.Now())}
}

// read fails once with the peer's fault, after the bytes that caused it. From then on, or once our close frame is sent,
// it discards bytes up to the peer's close frame. Otherwise unread bytes would reset the connection before the peer
// gets our close frame, and the library would read them one by one.
func (f *inbound) read(p []byte) (int, error) {
	for {
		if f.fault != nil && !f.reported {
			f.reported = true
			f.aim(time.Now().Add(f.intake.limits.closeWait))
			return 0, f.fault
		}
		draining := f.reported
		if !draining {
			until := time.Time{}
			if !f.intake.started.IsZero() {
				until = f.intake.started.Add(f.intake.limits.patience)
			}
			draining = f.aim(until)
		}
		if draining {
			if f.intake.closed {
				return 0, io.EOF
			}
			if f.sink != nil {
				p = f.sink
			}
		}
		n, err := f.receive(p)
		if fault := f.intake.count(p[:n], time.Now()); f.fault == nil && !draining {
			f.fault = fault
		}
		f.payload.Store(f.intake.payload)
		switch {
		case draining && err == nil:
			if n == len(p) && f.sink == nil { // a correct peer now sends little
				f.sink = make([]byte, sinkBuffer)
			}
		case draining:
			return 0, err
		case errors.Is(err, os.ErrDeadlineExceeded) && !f.isClosing():
			f.fault = errUnfinished
		default:
			return n, err
		}
	}
}

func (f *inbound) receive(p []byte) (int, error) {
	if len(f.early) == 0 {
		return f.conn.Read(p) //nolint:wrapcheck // callers match the library's errors
	}
	n := copy(p, f.early)
	if f.early = f.early[n:]; len(f.early) == 0 {
		f.early = nil
	}
	return n, nil
}

// aim sets the deadline of the next read unless it is already set. It reports whether our close frame set its own
// deadline.
func (f *inbound) aim(at time.Time) (closing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing || f.deadline.Equal(at) {
		return f.closing
	}
	f.deadline = at
	// A closed connection fails at the next read.
	_ = f.conn.SetReadDeadline(at)
	return false
}

func (f *inbound) isClosing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// closeSent starts the time limit for the peer's answer. The library would wait for the rest of a frame without a
// limit.
func (f *inbound) closeSent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closing {
		f.closing = true
		_ = f.conn.SetReadDeadline(time.Now().Add(f.intake.limits.closeWait))
	}
}
