package main

import (
	"encoding/binary"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// raw is the upper bound: the same bytes by non-blocking writev on bare file descriptors, many frames in one call. It
// has no protocol, no limits and no filters, and handles no lost connection.
type raw struct {
	mu     sync.Mutex
	frames [][]byte // all frames so far; a benchmark is short
	shards []*rawShard
	next   int
}

type rawShard struct {
	raw   *raw
	epoll int
	wake  int

	mu      sync.Mutex
	joining []*rawClient
}

type rawClient struct {
	fd      int
	cursor  int // the next frame
	offset  int // the bytes of it already sent
	blocked bool
	gone    bool
}

func newRaw() (*raw, error) {
	r := &raw{}
	for range runtime.GOMAXPROCS(0) {
		epoll, err := unix.EpollCreate1(0)
		if err != nil {
			return nil, err
		}
		wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK)
		if err != nil {
			return nil, err
		}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)}); err != nil {
			return nil, err
		}
		s := &rawShard{raw: r, epoll: epoll, wake: wake}
		r.shards = append(r.shards, s)
		go s.run()
	}
	return r, nil
}

func (r *raw) publish(payload []byte) {
	frame := encodeFrame(payload)
	r.mu.Lock()
	r.frames = append(r.frames, frame)
	r.mu.Unlock()
	for _, s := range r.shards {
		s.poke()
	}
}

func (s *rawShard) poke() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(s.wake, one[:])
}

func (r *raw) join(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := takeOver(w)
	if err != nil {
		return
	}
	control, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	var fd int
	// The descriptor must outlive conn, which the garbage collector would close.
	if err := control.Control(func(original uintptr) { fd, err = unix.Dup(int(original)) }); err != nil {
		return
	}
	_ = conn.Close()
	_ = unix.SetNonblock(fd, true)
	r.mu.Lock()
	s := r.shards[r.next%len(r.shards)]
	r.next++
	client := &rawClient{fd: fd, cursor: len(r.frames)}
	r.mu.Unlock()
	s.mu.Lock()
	s.joining = append(s.joining, client)
	s.mu.Unlock()
	s.poke()
}

func (s *rawShard) run() {
	var (
		clients []*rawClient
		byFD    = map[int32]*rawClient{}
		ready   = make([]unix.EpollEvent, 256)
		scratch [8]byte
		vectors [][]byte
	)
	for {
		n, err := unix.EpollWait(s.epoll, ready, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(err)
		}
		for _, event := range ready[:max(n, 0)] {
			if int(event.Fd) == s.wake {
				_, _ = unix.Read(s.wake, scratch[:])
			} else if c := byFD[event.Fd]; c != nil {
				c.blocked = false
			}
		}
		s.mu.Lock()
		for _, c := range s.joining {
			clients = append(clients, c)
			byFD[int32(c.fd)] = c
			_ = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, c.fd,
				&unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLET, Fd: int32(c.fd)})
		}
		s.joining = nil
		s.mu.Unlock()
		gone := false
		for again := true; again; {
			again = false
			for _, c := range clients {
				s.raw.mu.Lock()
				frames := s.raw.frames
				s.raw.mu.Unlock()
				if c.blocked || c.cursor == len(frames) {
					continue
				}
				vectors = append(vectors[:0], frames[c.cursor:min(len(frames), c.cursor+64)]...)
				vectors[0] = vectors[0][c.offset:]
				n, err := unix.Writev(c.fd, vectors)
				if errors.Is(err, unix.EAGAIN) {
					c.blocked = true
					continue
				}
				if err != nil {
					c.gone, gone = true, true
					c.blocked = true
					continue
				}
				again = true
				for n += c.offset; c.cursor < len(frames) && n >= len(frames[c.cursor]); c.cursor++ {
					n -= len(frames[c.cursor])
				}
				c.offset = n
			}
		}
		if gone {
			clients = slices.DeleteFunc(clients, func(c *rawClient) bool {
				if c.gone {
					delete(byFD, int32(c.fd))
					_ = unix.Close(c.fd)
				}
				return c.gone
			})
		}
	}
}
