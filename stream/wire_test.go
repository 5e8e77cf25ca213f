package stream

import (
	"bufio"
	"encoding/hex"
	"fmt"
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

func handshake(t *testing.T, server *httptest.Server, header map[string]string) (net.Conn, *bufio.Reader,
	*http.Response) {
	t.Helper()
	return handshakeAt(t, server, "/api/stream", header)
}

// handshakeAt speaks the handshake by hand; header replaces members of a good one, "" removes them.
func handshakeAt(t *testing.T, server *httptest.Server, path string, header map[string]string) (net.Conn, *bufio.Reader,
	*http.Response) {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	reader, response := upgrade(t, conn, server.URL+path, header)
	return conn, reader, response
}

// upgrade is handshakeAt over an existing connection.
func upgrade(t *testing.T, conn net.Conn, address string, header map[string]string) (*bufio.Reader, *http.Response) {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		"Sec-Websocket-Version": {"13"},
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
	return reader, response
}

// readFrame reads one whole frame; first is the first byte of its header.
func readFrame(reader io.Reader) (first byte, payload []byte, err error) {
	header := make([]byte, 2)
	if _, err := io.ReadFull(reader, header); err != nil {
		return 0, nil, err
	}
	length := int64(header[1])
	if extra := map[byte]int{126: 2, 127: 8}[header[1]]; extra > 0 {
		long := make([]byte, extra)
		if _, err := io.ReadFull(reader, long); err != nil {
			return 0, nil, err
		}
		length = 0
		for _, b := range long {
			length = length<<8 | int64(b)
		}
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(reader, payload)
	return header[0], payload, err
}

// lastFrame reads whole frames until the close frame and returns its code.
func lastFrame(t *testing.T, reader io.Reader) int {
	t.Helper()
	_, code, err := toTheEnd(reader)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// toTheEnd reads whole frames until the close frame and returns its code and the texts before it.
func toTheEnd(reader io.Reader) (texts []string, code int, err error) {
	for {
		switch first, payload, err := readFrame(reader); {
		case err != nil:
			return texts, 0, err
		case first == 0x81:
			texts = append(texts, string(payload))
		case first == 0x88:
			return texts, int(payload[0])<<8 | int(payload[1]), nil
		default:
			return texts, 0, fmt.Errorf("frame header %x", first)
		}
	}
}
