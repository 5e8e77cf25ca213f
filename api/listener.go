package api

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Listener lets a server answer a URL with a broken percent escape as codex-manager does: 400 in JSON. net/http refuses such a request in
// plain text before any handler sees it; only on the connection can that answer be put into the API's words.
func Listener(inner net.Listener) net.Listener { return urlListener{inner} }

type urlListener struct{ net.Listener }

// Accept implements net.Listener.
func (l urlListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &urlConn{Conn: conn}, nil
}

// urlConn remembers the start of what was read last, which holds the line of the request that is being answered. When it does not (a
// request line longer than rememberedHead, or sent in pieces), net/http's own answer goes out.
type urlConn struct {
	net.Conn
	head []byte
}

const rememberedHead = 2048

// refusal is net/http's whole answer to a request it cannot parse.
const refusal = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"

// Read implements net.Conn.
func (c *urlConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	// Between requests net/http waits by reading a single byte, the first of the next request.
	if len(c.head) != 1 {
		c.head = c.head[:0]
	}
	c.head = append(c.head, p[:min(n, rememberedHead)]...)
	return n, err
}

// Write implements net.Conn.
func (c *urlConn) Write(p []byte) (int, error) {
	if len(p) != len(refusal) || string(p) != refusal {
		return c.Conn.Write(p)
	}
	uri, broken := brokenURI(c.head)
	if !broken {
		return c.Conn.Write(p)
	}
	body := badURLBody(uri)
	answer := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		http.StatusBadRequest, http.StatusText(http.StatusBadRequest), len(body), body)
	if _, err := c.Conn.Write([]byte(answer)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap is the connection itself, for who takes it over from net/http and has no requests to remember.
func (c *urlConn) Unwrap() net.Conn { return c.Conn }

// CloseWrite lets net/http finish an answer before the peer is reset.
func (c *urlConn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}

// brokenURI finds the target of a request line whose path has a broken escape.
func brokenURI(head []byte) (string, bool) {
	line, _, whole := bytes.Cut(head, []byte("\r\n"))
	parts := strings.Split(string(line), " ")
	if !whole || len(parts) != 3 || !strings.HasPrefix(parts[1], "/") {
		return "", false
	}
	path, _, _ := strings.Cut(parts[1], "?")
	_, valid := decodePath(path)
	return parts[1], !valid
}
