package queue_test

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"harness/internal/platform/database"
)

// cutter is a proxy between processes and their Postgres, so that a test can cut every connection and restore access.
type cutter struct {
	listener net.Listener
	network  string
	address  string
	done     sync.WaitGroup

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]struct{}
}

// newCutter starts a cutter and returns it with the options of a store reached through it.
func newCutter(t *testing.T, direct database.Options) (*cutter, database.Options) {
	t.Helper()
	parsed, err := url.Parse(direct.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{network: "tcp", address: parsed.Host, conns: map[net.Conn]struct{}{}}
	query := parsed.Query()
	if socket := query.Get("host"); strings.HasPrefix(socket, "/") {
		c.network, c.address = "unix", filepath.Join(socket, ".s.PGSQL.5432")
		query.Del("host")
		parsed.User = url.User(query.Get("user"))
		query.Del("user")
	}
	query.Set("sslmode", "disable")
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	parsed.Host, parsed.RawQuery = c.listener.Addr().String(), query.Encode()
	c.done.Go(c.accept)
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.cut()
		c.done.Wait()
	})
	return c, database.Options{URL: parsed.String()}
}

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(c.network, c.address)
		if err != nil || !c.keep(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		c.done.Go(func() { c.pipe(client, server) })
		c.done.Go(func() { c.pipe(server, client) })
	}
}

// keep remembers a pair of connections; false means that access is cut.
func (c *cutter) keep(pair ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range pair {
		if !c.down {
			c.conns[conn] = struct{}{}
		}
	}
	return !c.down
}

func (c *cutter) pipe(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = from.Close()
	_ = to.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, from)
}

// cut closes every connection, even in the middle of an exchange, and refuses new ones.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = true
	for conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cutter) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}
