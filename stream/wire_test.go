package stream

import (
	"bufio"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	out, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func requireBytes(t *testing.T, reader io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want)/2)
	if _, err := io.ReadFull(reader, got); err != nil {
		t.Fatal(err)
	}
	if hex.EncodeToString(got) != want {
		t.Fatalf("got %q", got)
	}
}

func handshake(t *testing.T, server *httptest.Server, header map[string]string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	return handshakeAt(t, server, "/api/stream", header)
}

// handshakeAt speaks the handshake by hand; header replaces members of a good one, "" removes them.
func handshakeAt(t *testing.T, server *httptest.Server, path string, header map[string]string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Version": {"13"},
	}
	for name, value := range header {
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	if err := request.Write(conn); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		t.Fatal(err)
	}
	return conn, reader, response
}

// lastFrame reads whole frames until the close frame and returns its code.
func lastFrame(t *testing.T, reader *bufio.Reader) int {
	t.Helper()
	for {
		header := make([]byte, 2)
		if _, err := io.ReadFull(reader, header); err != nil {
			t.Fatal(err)
		}
		length := int64(header[1])
		if extra := map[byte]int{126: 2, 127: 8}[header[1]]; extra > 0 {
			long := make([]byte, extra)
			if _, err := io.ReadFull(reader, long); err != nil {
				t.Fatal(err)
			}
			length = 0
			for _, b := range long {
				length = length<<8 | int64(b)
			}
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(reader, payload); err != nil {
			t.Fatal(err)
		}
		switch header[0] {
		case 0x81:
		case 0x88:
			return int(payload[0])<<8 | int(payload[1])
		default:
			t.Fatalf("frame header %x", header)
		}
	}
}
