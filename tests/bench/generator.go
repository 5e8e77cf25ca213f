package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// generator is many HTTP clients in one goroutine, each with one kept-alive connection and one request in flight. It
// shares the machine with the server under test, and a goroutine for each client would cost two more thread switches
// per request.
type generator struct {
	epoll   int
	clients []*client
	byFD    map[int32]*client
	// render returns the i-th request of a client. The bytes are used before the next call.
	render func(client, i int) []byte

	counting bool
	times    []time.Duration
}

type client struct {
	fd    int
	index int
	count int
	began time.Time
	in    []byte // of an incomplete response
}

// newGenerator connects the clients and sends nothing yet.
func newGenerator(base string, clients int, render func(client, i int) []byte) (*generator, error) {
	epoll, port, err := poller(base)
	if err != nil {
		return nil, err
	}
	g := &generator{epoll: epoll, byFD: map[int32]*client{}, render: render}
	for i := range clients {
		c := &client{index: i}
		if c.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			g.close()
			return nil, err
		}
		g.clients = append(g.clients, c)
		g.byFD[int32(c.fd)] = c
		err := errors.Join(
			unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
			// a request is much smaller than the buffer, so sending never blocks
			unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20),
			unix.Connect(c.fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}),
			unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)}))
		if err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *generator) close() {
	for _, c := range g.clients {
		_ = unix.Close(c.fd)
	}
	_ = unix.Close(g.epoll)
}

// run drives the clients for a while, after a warm-up of a fifth of that time. cpu returns the server's CPU time so
// far, store that of Postgres.
func (g *generator) run(length time.Duration, cpu, store func() time.Duration) (rate, error) {
	defer g.close()
	for _, c := range g.clients {
		if err := g.send(c); err != nil {
			return rate{}, err
		}
	}
	if err := g.drive(time.Now().Add(length/5), false); err != nil {
		return rate{}, err
	}
	g.counting = true
	began, used, stored, own := time.Now(), cpu(), store(), ownCPU()
	if err := g.drive(began.Add(length), false); err != nil {
		return rate{}, err
	}
	g.counting = false
	took, spent, kept, mine := time.Since(began), cpu()-used, store()-stored, ownCPU()-own
	if spent <= 0 {
		return rate{}, errNoClock
	}
	if err := g.drive(time.Now().Add(30*time.Second), true); err != nil {
		return rate{}, err
	}
	n := float64(len(g.times))
	if n == 0 {
		return rate{}, errors.New("no answer in time")
	}
	return rate{perSecond: n / took.Seconds(), p50: quantile(g.times, 0.5), p99: quantile(g.times, 0.99),
		cpu: float64(spent.Microseconds()) / n, store: float64(kept.Microseconds()) / n,
		client: float64(mine.Microseconds()) / n}, nil
}

// drive reads responses and sends the next requests until a deadline. When draining, it sends none and returns once
// every request has its response.
func (g *generator) drive(until time.Time, draining bool) error {
	events := make([]unix.EpollEvent, len(g.clients))
	chunk := make([]byte, 64<<10)
	waiting := len(g.clients)
	for waiting > 0 && time.Now().Before(until) {
		n, err := unix.EpollWait(g.epoll, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, event := range events[:max(n, 0)] {
			c := g.byFD[event.Fd]
			n, err := unix.Read(c.fd, chunk)
			if err != nil || n == 0 {
				return fmt.Errorf("client %d lost its connection: %v", c.index, err)
			}
			whole, err := c.take(chunk[:n])
			if err != nil {
				return err
			}
			if !whole {
				continue
			}
			if g.counting {
				g.times = append(g.times, time.Since(c.began))
			}
			if draining {
				waiting--
				continue
			}
			if err := g.send(c); err != nil {
				return err
			}
		}
	}
	if draining && waiting > 0 {
		return fmt.Errorf("%d clients have no answer", waiting)
	}
	return nil
}

func (g *generator) send(c *client) error {
	request := g.render(c.index, c.count)
	c.count++
	c.began = time.Now()
	// The request fits into the socket's buffer, because the previous one has its response.
	if n, err := unix.Write(c.fd, request); err != nil || n != len(request) {
		return fmt.Errorf("client %d sent %d of %d bytes: %v", c.index, n, len(request), err)
	}
	return nil
}

// take adds received bytes and reports whether the response is complete. It accepts only 200.
func (c *client) take(chunk []byte) (whole bool, err error) {
	data := chunk
	if len(c.in) > 0 {
		c.in = append(c.in, chunk...)
		data = c.in
	}
	const name = "Content-Length: "
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end >= 0 {
		at := bytes.Index(data[:end], []byte(name))
		if at < 0 {
			return false, fmt.Errorf("an answer without a length: %.300q", data)
		}
		length := 0
		for _, digit := range data[at+len(name) : end] {
			if digit == '\r' {
				break
			}
			length = 10*length + int(digit-'0')
		}
		if !bytes.HasPrefix(data, []byte("HTTP/1.1 200")) {
			return false, fmt.Errorf("refused: %.300q", data)
		}
		whole = len(data) >= end+4+length
	}
	if whole {
		c.in = c.in[:0]
	} else if len(c.in) == 0 {
		c.in = append(c.in, chunk...)
	}
	return whole, nil
}

// ownCPU returns the user and system time of this process.
func ownCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
