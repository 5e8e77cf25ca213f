package dbtest

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Proxy stands between a program and its Postgres, and can be cut: connections break, and none can be made until it is mended.
type Proxy struct {
	// URL is the database through the proxy.
	URL string

	target string
	listen net.Listener
	pumps  sync.WaitGroup
	mu     sync.Mutex
	cut    bool
	open   map[net.Conn]struct{}
}

// NewProxy makes a proxy in front of a database whose URL names a Unix socket's folder or a host.
func NewProxy(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{open: map[net.Conn]struct{}{}}
	query := parsed.Query()
	network := "tcp"
	p.target = parsed.Host
	if folder := query.Get("host"); filepath.IsAbs(folder) {
		network, p.target = "unix", filepath.Join(folder, ".s.PGSQL.5432")
		query.Del("host")
	}
	if p.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	parsed.Host = p.listen.Addr().String()
	query.Set("sslmode", "disable")
	parsed.RawQuery = query.Encode()
	p.URL = parsed.String()
	p.pumps.Go(func() { p.accept(network) })
	t.Cleanup(func() {
		_ = p.listen.Close()
		p.Cut()
		p.pumps.Wait()
	})
	return p
}

// Cut breaks every connection and lets no new one through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for conn := range p.open {
		_ = conn.Close()
	}
}

// Mend lets connections through again.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

func (p *Proxy) accept(network string) {
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
		server, err := net.Dial(network, p.target)
		if err != nil || !p.take(server) {
			p.drop(client)
			continue
		}
		p.pumps.Go(func() { p.pump(client, server) })
		p.pumps.Go(func() { p.pump(server, client) })
	}
}

// take keeps a connection that may be open; another is closed.
func (p *Proxy) take(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = conn.Close()
		return false
	}
	p.open[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.open, conn)
	}
}

func (p *Proxy) pump(to, from net.Conn) {
	_, _ = io.Copy(to, from) // its end, however it came, is the connection's
	p.drop(to, from)
}
