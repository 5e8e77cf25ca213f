package stream

import (
	"net"
	"sync"
	"syscall"
	"unsafe"
)

// direct hands many frames to a socket in one system call that does not wait. net.Buffers would wait for a peer that
// does not read.
type direct struct {
	raw     syscall.RawConn
	vectors *vectors
}

func newDirect(conn net.Conn, memory *vectors) *direct {
	has, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return nil
	}
	return &direct{raw, memory}
}

// vector is the memory of one writev.
type vector struct {
	parts   []syscall.Iovec
	written int
	errno   syscall.Errno
	call    func(fd uintptr) // made once, or every batch would allocate it
}

// vectors keep that memory for the next batch, of any socket.
type vectors struct{ pool sync.Pool }

func newVectors() *vectors {
	return &vectors{sync.Pool{New: func() any {
		v := &vector{parts: make([]syscall.Iovec, 0, maxBatchFrames+1)}
		v.call = v.writev
		return v
	}}}
}

func (v *vector) writev(fd uintptr) {
	for {
		// It never blocks, so the scheduler need not know. A regular syscall could give this thread's processor
		// away, and the shard would then queue for one.
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&v.parts[0])), uintptr(len(v.parts)))
		if errno == syscall.EINTR {
			continue
		}
		v.written, v.errno = int(n), errno
		return
	}
}

// write returns how many messages were begun, and what is left of the last of them. A full connection takes the first
// one as begun, so that there is something to wait with.
func (d *direct) write(messages []*Message) (sent int, rest []byte, err error) {
	v := d.vectors.pool.Get().(*vector) // the pool holds nothing else
	v.parts = v.parts[:0]
	for _, message := range messages {
		part := syscall.Iovec{Base: &message.wire[0]}
		part.SetLen(len(message.wire))
		v.parts = append(v.parts, part)
	}
	err = d.raw.Control(v.call) // not Write, which makes ready to wait
	written, errno := v.written, v.errno
	clear(v.parts)
	d.vectors.pool.Put(v)
	switch {
	case err != nil:
		return 0, nil, err //nolint:wrapcheck // the connection is gone; no caller inspects the cause
	case errno == syscall.EAGAIN:
		return 1, messages[0].wire, nil
	case errno != 0:
		return 0, nil, errno
	}
	for i, message := range messages {
		if written < len(message.wire) {
			if written == 0 {
				return i, nil, nil
			}
			return i + 1, message.wire[written:], nil
		}
		written -= len(message.wire)
	}
	return len(messages), nil, nil
}
