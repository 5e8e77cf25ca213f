package dbtest

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// Direction is the direction of data on a connection.
type Direction int

// The directions of a connection: to the listener, and back to the client.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Proxy sits between a program and its Postgres, or any other server. A test can cut it: connections break, and new
// ones fail until the test mends it. Or it drops data without an error.
type Proxy struct {
	// URL is the URL of the database through the proxy.
	URL string

	listen net.Listener
	pumps  sync.WaitGroup
	mu     sync.Mutex
	target address
	cut    bool
	hole   Direction // new connections drop data in this direction
	delay  time.Duration
	open   map[net.Conn]struct{}
	lost   map[net.Conn]Direction // these connections drop data in this direction
}

// FreeAddress returns an address of a host on which nothing listens.
func FreeAddress(t testing.TB, host string) string {
	t.Helper()
	listener, err := net.Listen("tcp", host+":0") //nolint:noctx // a moment
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// address is where a Postgres listens.
type address struct{ network, name string }

// addressOf returns the address of a database. Its URL names the folder of a Unix socket, or a host.
func addressOf(u *url.URL) address {
	if folder := u.Query().Get("host"); filepath.IsAbs(folder) {
		return address{"unix", filepath.Join(folder, ".s.PGSQL.5432")}
	}
	return address{"tcp", u.Host}
}

// NewProxy makes a proxy in front of a database. The database's URL names the folder of a Unix socket, or a host.
func NewProxy(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: addressOf(parsed), open: map[net.Conn]struct{}{}, lost: map[net.Conn]Direction{}}
	query := parsed.Query()
	query.Del("host")
	if p.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	parsed.Host = p.listen.Addr().String()
	query.Set("sslmode", "disable")
	parsed.RawQuery = query.Encode()
	p.URL = parsed.String()
	p.pumps.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listen.Close()
		p.Cut()
		p.pumps.Wait()
	})
	return p
}

// Address returns the address on which the proxy listens.
func (p *Proxy) Address() string { return p.listen.Addr().String() }

// Cut breaks every connection and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for conn := range p.open {
		_ = conn.Close()
	}
}

// Mend allows connections again.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.hole = false, 0
}

// Delay delays all data in both directions on connections made from now on.
func (p *Proxy) Delay(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// Lead sends connections to another database from now on. Open connections break.
func (p *Proxy) Lead(databaseURL string) error {
	if err := p.Divert(databaseURL); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
	return nil
}

// Divert is Lead for new connections only.
func (p *Proxy) Divert(databaseURL string) error {
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addressOf(parsed)
	return nil
}

func (p *Proxy) leadsTo() address {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// Swallow drops all data sent from now on in a direction. It does so forever on open connections, and until Mend on
// new ones. This simulates a network that loses packets and then forgets the connections. Neither side gets an error.
func (p *Proxy) Swallow(what Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole |= what
	for conn := range p.open {
		p.lost[conn] |= what
	}
}

// isLost reports whether data on a connection is dropped.
func (p *Proxy) isLost(what Direction, conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.lost[conn]&what != 0 {
			return true
		}
	}
	return false
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if !p.take(client) {
			continue
		}
		to := p.leadsTo()
		server, err := net.Dial(to.network, to.name)
		if err != nil || !p.take(server) {
			p.drop(client)
			continue
		}
		p.pumps.Go(func() { p.pump(ToClient, client, server) })
		p.pumps.Go(func() { p.pump(ToServer, server, client) })
	}
}

// take keeps a connection that may be open, and closes any other.
func (p *Proxy) take(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = conn.Close()
		return false
	}
	p.open[conn] = struct{}{}
	if p.hole != 0 {
		p.lost[conn] = p.hole
	}
	return true
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.open, conn)
		delete(p.lost, conn)
	}
}

func (p *Proxy) pump(direction Direction, to, from net.Conn) {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	write := to.Write
	if delay > 0 {
		way := make(chan chunk, 1024)
		defer close(way)
		p.pumps.Go(func() {
			for c := range way {
				<-time.After(time.Until(c.due))
				_, _ = to.Write(c.said) // the reader detects a closed connection
			}
		})
		write = func(said []byte) (int, error) {
			way <- chunk{slices.Clone(said), time.Now().Add(delay)}
			return len(said), nil
		}
	}
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if n > 0 && !p.isLost(direction, from, to) {
			_, err = write(buffer[:n])
		}
		if err != nil {
			break // any error is the connection's end
		}
	}
	if p.isLost(Both, from, to) {
		p.drop(from) // the other side does not notice
		return
	}
	p.drop(to, from)
}
