package conns

import (
	"net"
	"testing"
)

// A stream that takes over a connection gets it without the wrapper, which would cost one system call for every
// frame.
func TestAcceptedConnectionCanBeUnwrapped(t *testing.T) {
	t.Parallel()
	bare, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := NewLimiter(Options{}).Listener(bare)
	t.Cleanup(func() { _ = listener.Close() })
	client, err := net.Dial("tcp", bare.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	wrapper, wraps := conn.(interface{ Unwrap() net.Conn })
	if !wraps {
		t.Fatal("the connection cannot be unwrapped")
	}
	if _, tcp := wrapper.Unwrap().(*net.TCPConn); !tcp {
		t.Errorf("inside is %T", wrapper.Unwrap())
	}
}
