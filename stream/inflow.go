package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// libraryCloseWait is how long the library waits for the peer's answer to a close frame.
const libraryCloseWait = 5 * time.Second

// inflow is the reading side of a socket: it holds the peer to its rate, and to finishing what it began.
type inflow struct {
	conn     net.Conn
	early    []byte // came in with the handshake
	intake   intake // the reader's own, as fault and draining are
	fault    error
	draining bool // the fault was told; what comes now is thrown away, since unread bytes would cost the peer our close frame

	mu       sync.Mutex
	deadline time.Time
	closing  bool // our close frame was sent: the deadline is its
}

func newInflow(conn net.Conn, limits *intakeLimits) *inflow {
	return &inflow{conn: conn, intake: newIntake(limits, time.Now())}
}

// read fails once with the peer's fault, after the bytes that made it one.
func (f *inflow) read(p []byte) (int, error) {
	for {
		switch {
		case f.fault != nil && !f.draining:
			f.draining = true
			f.aim(time.Now().Add(f.intake.limits.goodbye))
			return 0, f.fault
		case f.draining && f.intake.closed:
			return 0, io.EOF
		case f.draining:
		case f.intake.started.IsZero():
			f.aim(time.Time{})
		default:
			f.aim(f.intake.started.Add(f.intake.limits.patience))
		}
		n, err := f.receive(p)
		if fault := f.intake.take(p[:n], time.Now()); f.fault == nil {
			f.fault = fault
		}
		switch {
		case f.draining && err == nil:
		case err != nil && !f.draining && errors.Is(err, os.ErrDeadlineExceeded) && f.late():
			f.fault = errUnfinished
		default:
			return n, err
		}
	}
}

func (f *inflow) receive(p []byte) (int, error) {
	if len(f.early) == 0 {
		return f.conn.Read(p) //nolint:wrapcheck // the library tells errors apart
	}
	n := copy(p, f.early)
	if f.early = f.early[n:]; len(f.early) == 0 {
		f.early = nil
	}
	return n, nil
}

// aim sets the deadline of the next read unless it is set already; in between messages there is none.
func (f *inflow) aim(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing || f.deadline.Equal(at) {
		return
	}
	f.deadline = at
	// A connection that is gone says so when it is read.
	_ = f.conn.SetReadDeadline(at)
}

// late tells whether a deadline that has passed was that of a message.
func (f *inflow) late() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.closing
}

// closeSent gives the peer its time to answer. The library would wait for the rest of a frame for as long as it takes.
func (f *inflow) closeSent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closing {
		f.closing = true
		_ = f.conn.SetReadDeadline(time.Now().Add(f.intake.limits.goodbye))
	}
}
