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

// inbound is the reading side of a socket: it holds the peer to its rate, and to finishing what it began.
type inbound struct {
	conn     net.Conn
	early    []byte // came in with the handshake
	intake   intake // owned by the reader, as fault, reported and sink are
	fault    error
	reported bool   // the library has the fault
	sink     []byte // for bytes that are discarded
	// payload is how many bytes of messages were handed out, so that the reader of a message knows how many to
	// read. The library's buffer knows too, but another goroutine owns it while a connection is being closed.
	payload atomic.Int64

	mu       sync.Mutex
	deadline time.Time
	closing  bool // our close frame was sent: the deadline is its
}

func newInbound(conn net.Conn, limits *intakeLimits) *inbound {
	return &inbound{conn: conn, intake: newIntake(limits, time.Now())}
}

// read fails once with the peer's fault, after the bytes that made it one. From then on, and once our close frame is
// sent, what comes is thrown away up to the peer's close frame: unread bytes would reset the connection and cost the
// peer our close frame, and the library would take them one by one.
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
		if fault := f.intake.take(p[:n], time.Now()); f.fault == nil && !draining {
			f.fault = fault
		}
		f.payload.Store(f.intake.payload)
		switch {
		case draining && err == nil:
			if n == len(p) && f.sink == nil { // a polite peer has little to say now
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

// aim sets the deadline of the next read unless it is set already, and reports whether our close frame has set its own.
func (f *inbound) aim(at time.Time) (closing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing || f.deadline.Equal(at) {
		return f.closing
	}
	f.deadline = at
	// A connection that is gone says so when it is read.
	_ = f.conn.SetReadDeadline(at)
	return false
}

func (f *inbound) isClosing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// closeSent gives the peer its time to answer. The library would wait for the rest of a frame for as long as it takes.
func (f *inbound) closeSent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closing {
		f.closing = true
		_ = f.conn.SetReadDeadline(time.Now().Add(f.intake.limits.closeWait))
	}
}
