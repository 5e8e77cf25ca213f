//go:build cluster && linux

package cluster_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"harness/tests/nettest"
)

// listener is a socket of a host that receives datagrams from other hosts.
type listener struct {
	t    *testing.T
	host *nettest.Host
	conn *net.UDPConn
}

func newEar(t *testing.T, host *nettest.Host) *listener {
	t.Helper()
	e := &listener{t: t, host: host}
	if err := host.Inside(func() (err error) {
		e.conn, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(host.Address()), Port: 7})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *listener) send(to *listener, word string) {
	e.t.Helper()
	if _, err := e.conn.WriteTo([]byte(word), to.conn.LocalAddr()); err != nil {
		e.t.Fatal(err)
	}
}

// expect waits for the next datagram. Earlier datagrams that have not arrived are lost: a single bridge keeps the
// order.
func (e *listener) expect(want string) {
	e.t.Helper()
	if err := e.conn.SetReadDeadline(time.Now().Add(hang)); err != nil {
		e.t.Fatal(err)
	}
	buffer := make([]byte, 64)
	n, err := e.conn.Read(buffer)
	if got := string(buffer[:n]); err != nil || got != want {
		e.t.Fatalf("%s received %q (%v), want %q", e.host.Name, got, err, want)
	}
}

// A cut in one direction affects only that direction, only between those two hosts, and ends.
func TestALinkIsCutInOneDirection(t *testing.T) {
	t.Parallel()
	if !asRoot(t) {
		return
	}
	network := nettest.New(t)
	a, b, c := newEar(t, network.Host("a")), newEar(t, network.Host("b")), newEar(t, network.Host("c"))
	network.Drop(a.host, b.host)
	a.send(b, "is lost")
	b.send(a, "arrives")
	a.expect("arrives")
	c.send(b, "arrives, too")
	b.expect("arrives, too")
	a.send(c, "arrives as well")
	c.expect("arrives as well")
	network.Mend(b.host, a.host)
	a.send(b, "after it")
	b.expect("after it")

	network.Lose(a.host, b.host, 50)
	for range 400 {
		a.send(b, "one of many")
	}
	network.Mend(a.host, b.host)
	a.send(b, "the last")
	received := 0
	for buffer := make([]byte, 64); ; received++ {
		if n, err := b.conn.Read(buffer); err != nil || string(buffer[:n]) == "the last" {
			break
		}
	}
	if received < 100 || received > 300 {
		t.Errorf("%d of 400 datagrams arrived while half of them are lost", received)
	}
}

// A reset connection fails at the next sender, an unplugged cable affects both directions, and a moved address leads to
// another host.
func TestANetworkIsCut(t *testing.T) {
	t.Parallel()
	if !asRoot(t) {
		return
	}
	network := nettest.New(t)
	a, b, c := network.Host("a"), network.Host("b"), network.Host("c")
	listen := func(host *nettest.Host, address string) <-chan net.Conn {
		t.Helper()
		listener, err := host.Listen("tcp", address+":80")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan net.Conn)
		go func() {
			defer close(accepted)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		t.Cleanup(func() {
			_ = listener.Close()
			for conn := range accepted {
				_ = conn.Close()
			}
		})
		return accepted
	}
	dial := func(from *nettest.Host, address string) net.Conn {
		t.Helper()
		conn, err := from.Dial(t.Context(), "tcp", address+":80")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	atB, atC := listen(b, ""), listen(c, "")
	conn := dial(a, b.Address())
	other := <-atB
	network.Reset(b, a)
	if _, err := other.Write([]byte("refused")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection whose packets are refused ends with %v", err)
	}
	network.Mend(a, b)
	if _, err := conn.Write([]byte("to no host")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("its other end ends with %v", err)
	}

	network.Move(network.Shared(), b)
	dial(a, network.Shared())
	if err := (<-atB).Close(); err != nil {
		t.Fatal(err)
	}
	network.Move(network.Shared(), c)
	conn = dial(a, network.Shared())
	other = <-atC
	c.Unplug()
	for _, one := range []net.Conn{conn, other} {
		if _, err := one.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
	}
	c.Plug()
	for _, one := range []net.Conn{conn, other} {
		if _, err := one.Read(make([]byte, 4)); err != nil {
			t.Errorf("a connection did not survive a cable that was out for a moment: %v", err)
		}
	}
}
