package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// request renders one HTTP/1.1 request.
func request(method, path, body string) []byte {
	return fmt.Appendf(nil,
		"%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path,
		len(body), body)
}

// caller is a cheap client with one kept-alive connection, because it shares the machine with the server under test.
type caller struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(url string) (*caller, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	return &caller{conn, bufio.NewReaderSize(conn, 16<<10)}, nil
}

func (c *caller) close() { _ = c.conn.Close() }

// call sends a request and reads its response. It accepts only 200 and 202.
func (c *caller) call(rendered []byte) error {
	_, err := c.body(rendered)
	return err
}

func (c *caller) body(rendered []byte) ([]byte, error) {
	if _, err := c.conn.Write(rendered); err != nil {
		return nil, err
	}
	status, length := 0, 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case status == 0:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return nil, err
			}
			continue
		case len(line) == 0:
			body := make([]byte, length)
			if _, err := io.ReadFull(c.in, body); err != nil {
				return nil, err
			}
			if status != 200 && status != 202 {
				return nil, fmt.Errorf("status %d: %.300s", status, body)
			}
			return body, nil
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		}
	}
}
