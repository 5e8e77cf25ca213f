package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// eventBytes separates event frames from the small ones of the protocol.
const eventBytes = 512

// clientGroup is many websocket clients in one goroutine. It only counts event frames and answers pings, because it
// shares the machine with the server under test.
type clientGroup struct {
	epoll   int
	sockets []*socket
	byFD    map[int]*socket
	stop    atomic.Bool
	done    chan struct{}
	err     error

	frames atomic.Int64 // event frames of all sockets
	length atomic.Int64 // payload bytes of the last event frame
	gone   atomic.Int64 // sockets the server closed

	mu     sync.Mutex
	sent   []time.Time // send time of event k; read by the counting goroutine
	timing bool
	delays []time.Duration
}

type socket struct {
	fd     int
	events int
	header []byte // of an incomplete frame
	left   int    // payload bytes still missing
	opcode byte
	body   []byte // of a control frame
}

// poller creates an epoll instance for sockets of a server and returns the server's port.
func poller(base string) (epoll, port int, err error) {
	target, err := url.Parse(base)
	if err != nil {
		return 0, 0, err
	}
	if port, err = strconv.Atoi(target.Port()); err != nil {
		return 0, 0, err
	}
	epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return epoll, port, err
}

// join opens n sockets on a stream, or on the path in query.
func join(base string, n int, query string) (*clientGroup, error) {
	epoll, port, err := poller(base)
	if err != nil {
		return nil, err
	}
	c := &clientGroup{epoll: epoll, byFD: map[int]*socket{}, done: make(chan struct{})}
	for range n {
		s, err := openSocket(port, query, 0)
		if err != nil {
			c.closeAll()
			return nil, fmt.Errorf("socket %d of %d: %w", len(c.sockets)+1, n, err)
		}
		c.sockets = append(c.sockets, s)
		c.byFD[s.fd] = s
		if err := unix.SetNonblock(s.fd, true); err != nil {
			return nil, err
		}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, s.fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.fd)}); err != nil {
			return nil, err
		}
	}
	go c.read()
	return c, nil
}

// openSocket connects and performs the handshake. It keeps bytes after the handshake in the same packet.
func openSocket(port int, query string, receiveBuffer int) (*socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	s := &socket{fd: fd}
	if receiveBuffer > 0 {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	path := "/api/stream" + query
	if strings.HasPrefix(query, "/") {
		path = query
	}
	hello := fmt.Sprintf(
		"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", path, port)
	if _, err := unix.Write(fd, []byte(hello)); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	var answer []byte
	chunk := make([]byte, 4096)
	for !bytes.Contains(answer, []byte("\r\n\r\n")) {
		n, err := unix.Read(fd, chunk)
		if err != nil || n == 0 {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("handshake: %v after %q", err, answer)
		}
		answer = append(answer, chunk[:n]...)
	}
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 101")) {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("handshake refused: %.200s", answer)
	}
	_, rest, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	(&clientGroup{}).feed(s, rest)
	return s, nil
}

func (c *clientGroup) read() {
	defer close(c.done)
	ready := make([]unix.EpollEvent, 512)
	buffer := make([]byte, 256<<10)
	for !c.stop.Load() {
		n, err := unix.EpollWait(c.epoll, ready, 50)
		if err != nil && !errors.Is(err, unix.EINTR) {
			c.err = err
			return
		}
		for _, event := range ready[:max(n, 0)] {
			s := c.byFD[int(event.Fd)]
			n, err := unix.Read(s.fd, buffer)
			if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n == 0 {
				c.gone.Add(1)
				_ = unix.EpollCtl(c.epoll, unix.EPOLL_CTL_DEL, s.fd, nil)
				continue
			}
			c.feed(s, buffer[:n])
		}
	}
}

// feed handles the bytes of whole or partial frames.
func (c *clientGroup) feed(s *socket, data []byte) {
	for len(data) > 0 {
		if s.left > 0 {
			n := min(s.left, len(data))
			if s.opcode >= 8 {
				s.body = append(s.body, data[:n]...)
			}
			s.left -= n
			data = data[n:]
			if s.left == 0 {
				c.control(s)
			}
			continue
		}
		s.header = append(s.header, data[0])
		data = data[1:]
		length := -1
		if len(s.header) >= 2 {
			switch short := int(s.header[1] & 0x7f); {
			case short < 126:
				length = short
			case short == 126 && len(s.header) == 4:
				length = int(binary.BigEndian.Uint16(s.header[2:]))
			case short == 127 && len(s.header) == 10:
				length = int(binary.BigEndian.Uint64(s.header[2:]))
			}
		}
		if length < 0 {
			continue
		}
		s.opcode, s.left, s.header, s.body = s.header[0]&0x0f, length, s.header[:0], s.body[:0]
		if s.opcode < 8 && length >= eventBytes {
			c.event(s, length)
		} else if length == 0 {
			c.control(s)
		}
	}
}

// event counts a frame when its header has arrived, because the rest is in the same or the next read.
func (c *clientGroup) event(s *socket, length int) {
	c.frames.Add(1)
	c.length.Store(int64(length))
	if c.timing {
		c.mu.Lock()
		if s.events < len(c.sent) {
			c.delays = append(c.delays, time.Since(c.sent[s.events]))
		}
		c.mu.Unlock()
	}
	s.events++
}

// control answers a ping.
func (c *clientGroup) control(s *socket) {
	if s.opcode == 9 && len(s.body) < 126 {
		pong := append([]byte{0x8a, 0x80 | byte(len(s.body)), 0, 0, 0, 0}, s.body...) // masked with zeros
		_, _ = unix.Write(s.fd, pong)
	}
}

// reset clears the counts. No event may be in flight.
func (c *clientGroup) reset(timing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sockets {
		s.events = 0
	}
	c.frames.Store(0)
	c.sent, c.delays, c.timing = nil, nil, timing
}

func (c *clientGroup) note() {
	c.mu.Lock()
	c.sent = append(c.sent, time.Now())
	c.mu.Unlock()
}

// wait returns when all sockets got the events, or reports how many arrived.
func (c *clientGroup) wait(events int, patience time.Duration) error {
	want := int64(events) * int64(len(c.sockets))
	for deadline := time.Now().Add(patience); c.frames.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d frames arrived, %d sockets were closed", c.frames.Load(), want, c.gone.Load())
		}
	}
	return nil
}

func (c *clientGroup) close() {
	c.stop.Store(true)
	<-c.done
	c.closeAll()
}

func (c *clientGroup) closeAll() {
	for _, s := range c.sockets {
		_ = unix.Close(s.fd)
	}
	_ = unix.Close(c.epoll)
}
