package conns_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/api/conns"
	"harness/api/rest"
)

// A peer that sends much more than a route reads, and reads only then, gets the whole refusal. Otherwise the reset of
// the connection would discard it.
func TestRefusedPeerGetsItsAnswer(t *testing.T) {
	t.Parallel()
	const length, parts = 6 << 20, 12 // more than both socket buffers, over more than a second
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			if _, err := new(rest.Bodies).Read(r, rest.MaxBody); !errors.Is(err, rest.ErrBodyTooLarge) {
				t.Errorf("the body is read with %v", err)
			}
		}
		http.Error(w, "refused", http.StatusRequestEntityTooLarge)
	}))
	declared, chunked := fmt.Sprintf("Content-Length: %d\r\n", length), "Transfer-Encoding: chunked\r\n"
	for name, head := range map[string]string{
		"unread":                      "POST / HTTP/1.1\r\n" + declared,
		"declared":                    "POST /read HTTP/1.1\r\n" + declared,
		"declared, closes":            "POST /read HTTP/1.1\r\nConnection: close\r\n" + declared,
		"declared, of HTTP/1.0":       "POST /read HTTP/1.0\r\n" + declared,
		"declared, expects":           "POST /read HTTP/1.1\r\nExpect: 100-continue\r\n" + declared,
		"chunked":                     "POST /read HTTP/1.1\r\n" + chunked,
		"chunked, closes":             "POST /read HTTP/1.1\r\nConnection: close\r\n" + chunked,
		"chunked, expects":            "POST /read HTTP/1.1\r\nExpect: 100-continue\r\n" + chunked,
		"a long header":               "POST / HTTP/1.1\r\nX: " + strings.Repeat("x", 70_000) + "\r\n" + declared,
		"an address without meaning":  "POST /%zz HTTP/1.1\r\n" + declared,
		"an encoding without meaning": "POST / HTTP/1.1\r\nTransfer-Encoding: none\r\n" + declared,
		"an expectation without one":  "POST / HTTP/1.1\r\nExpect: nothing\r\n" + declared,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			part := strings.Repeat("x", length/parts)
			if strings.Contains(head, chunked) {
				part = fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
			}
			pace := time.Tick(100 * time.Millisecond)
			for n, text := range append([]string{head + "Host: x\r\n\r\n"}, slices.Repeat([]string{part}, parts)...) {
				if _, err := io.WriteString(conn, text); err != nil {
					t.Fatalf("send part %d: %v", n, err)
				}
				<-pace
			}
			if status, text := answer(t, conn); status < 400 || text == "" && status != http.StatusExpectationFailed {
				t.Errorf("the answer is %d %q", status, text)
			}
		})
	}
}

// serve serves through a limiter.
func serve(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limiter := conns.NewLimiter(conns.Options{})
	server := limiter.Server(handler)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(limiter.Listener(listener)) // it ends at Close
	}()
	t.Cleanup(func() {
		limiter.CloseUnopened()
		_ = server.Close()
		<-served
	})
	return listener.Addr().String()
}

// answer reads the final response of a connection.
func answer(t *testing.T, conn net.Conn) (status int, body string) {
	t.Helper()
	for reader := bufio.NewReader(conn); ; {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("read the response: %v", err)
		}
		if response.StatusCode == http.StatusContinue {
			continue
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatalf("read the body of the response: %v", err)
		}
		return response.StatusCode, string(text)
	}
}
