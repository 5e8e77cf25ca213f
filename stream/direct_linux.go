package stream

import (
	"net"
	"sync"
	"syscall"
	"unsafe"
)

// direct writes many frames to a socket in one system call that does not block. net.Buffers would block on a peer
// that does not read.
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
	call    func(fd uintptr) // allocated once instead of for every batch
}

// vectors keeps that memory for the next batch of any socket.
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
		// This is a raw call because it never blocks. A regular syscall could lose this thread's processor, and the
		// shard would then queue for one.
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&v.parts[0])), uintptr(len(v.parts)))
		if errno == syscall.EINTR {
			continue
		}
		v.written, v.errno = int(n), errno
		return
	}
}

// write returns how many messages it started to write, and the rest of the last one. On a full connection the first
// message counts as started, so that Wait has something to send.
func (d *direct) write(messages []*Message) (sent int, rest []byte, err error) {
	v := d.vectors.pool.Get().(*vector) // the pool holds only this type
	v.parts = v.parts[:0]
	for _, message := range messages {
		part := syscall.Iovec{Base: &message.wire[0]}
		part.SetLen(len(message.wire))
		v.parts = append(v.parts, part)
	}
	err = d.raw.Control(v.call) // not Write, which prepares to block
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
