package dbtest

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Network is a simulated network in front of Postgres. It adds a delay and counts round trips.
type Network struct {
	// URL is the DATABASE_URL through this network.
	URL string

	delay    time.Duration
	target   string
	listener net.Listener
	answers  atomic.Int64
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// NewNetwork puts a network in front of the store of a DATABASE_URL. It delays all data by delay in each direction.
// It closes at the end of the test.
func NewNetwork(t testing.TB, databaseURL string, delay time.Duration) *Network {
	t.Helper()
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	n := &Network{delay: delay, target: filepath.Join(query.Get("host"), ".s.PGSQL.5432")}
	dir := t.TempDir()
	if n.listener, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	query.Set("host", dir)
	parsed.RawQuery = query.Encode()
	n.URL = parsed.String()
	n.running.Go(n.accept)
	t.Cleanup(n.close)
	return n
}

// RoundTrips returns how often Postgres reported that it is ready for the next query.
func (n *Network) RoundTrips() int64 { return n.answers.Load() }

func (n *Network) accept() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("unix", n.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		n.mu.Lock()
		n.conns = append(n.conns, client, server)
		n.mu.Unlock()
		n.running.Go(func() { n.carry(server, client, nil) })
		n.running.Go(func() { n.carry(client, server, &counter{n: &n.answers}) })
	}
}

// chunk is the data of one read, and when to deliver it.
type chunk struct {
	said []byte
	due  time.Time
}

func (n *Network) carry(to, from net.Conn, count io.Writer) {
	way := make(chan chunk, 1024)
	n.running.Go(func() {
		defer func() { _ = to.Close() }()
		for c := range way {
			if wait := time.Until(c.due); wait > 0 {
				<-time.After(wait)
			}
			if _, err := to.Write(c.said); err != nil {
				_ = from.Close()
			}
		}
	})
	defer close(way)
	for {
		buffer := make([]byte, 32<<10)
		read, err := from.Read(buffer)
		if read > 0 {
			if count != nil {
				_, _ = count.Write(buffer[:read])
			}
			way <- chunk{buffer[:read], time.Now().Add(n.delay)}
		}
		if err != nil {
			return
		}
	}
}

func (n *Network) close() {
	err := n.listener.Close()
	n.mu.Lock()
	for _, conn := range n.conns {
		err = errors.Join(err, conn.Close())
	}
	n.mu.Unlock()
	n.running.Wait()
}

// counter counts ReadyForQuery among a server's messages. A message is a letter, a length that includes itself, and
// the rest.
type counter struct {
	n    *atomic.Int64
	head []byte
	skip int
}

// Write implements io.Writer.
func (c *counter) Write(said []byte) (int, error) {
	for rest := said; len(rest) > 0; {
		if c.skip > 0 {
			gone := min(c.skip, len(rest))
			c.skip, rest = c.skip-gone, rest[gone:]
			continue
		}
		c.head, rest = append(c.head, rest[0]), rest[1:]
		if len(c.head) == 5 {
			if c.head[0] == 'Z' {
				c.n.Add(1)
			}
			c.skip = int(c.head[1])<<24 | int(c.head[2])<<16 | int(c.head[3])<<8 | int(c.head[4]) - 4
			c.head = c.head[:0]
		}
	}
	return len(said), nil
}
