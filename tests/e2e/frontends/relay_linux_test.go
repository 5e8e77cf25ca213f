package frontends

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// relay passes the connections of front ends on to a server. It can lose what the server answers: what a server that is
// killed has not sent yet.
type relay struct {
	listener net.Listener
	server   string
	loses    atomic.Bool
}

// startRelay starts a relay before the server that listens on a port.
func startRelay(t *testing.T, port string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, server: "127.0.0.1:" + port}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.pass(client)
		}
	}()
	return r
}

func (r *relay) port() string { return strconv.Itoa(r.listener.Addr().(*net.TCPAddr).Port) }

// pass connects a client until either side ends.
func (r *relay) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return // the server is away
	}
	go func() {
		defer func() { _ = server.Close() }()
		copyUntilEnd(server, client, func() bool { return false })
	}()
	defer func() { _ = server.Close() }()
	copyUntilEnd(client, server, r.loses.Load)
}

func copyUntilEnd(to, from net.Conn, loses func() bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !loses() && n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
