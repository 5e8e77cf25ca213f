package streams

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// footprint is the resources that connections could leak in the server.
type footprint struct{ goroutines, descriptors float64 }

func footprintOf(i *programtest.Server) footprint {
	return footprint{i.Metric("go_goroutines"), i.Metric("process_open_fds")}
}

// readerFiles is how many descriptors the store may keep open for additional readers: up to three, each with the
// database, its log and the log's index. If each of a thousand connections leaked one, there would be more.
const readerFiles = 3 * 3

// requireNothingLeft waits until the server's resources are back to their previous level.
func requireNothingLeft(i *programtest.Server, before footprint) {
	i.T.Helper()
	var now footprint
	if !polling.Until(programtest.Patience, func() bool {
		i.Client().CloseIdleConnections() // the test's own requests may have opened several
		now = footprintOf(i)
		return now.goroutines <= before.goroutines && now.descriptors <= before.descriptors+readerFiles
	}) {
		i.T.Fatalf("the server has %+v, it had %+v", now, before)
	}
}

// rawPeer is a client that follows only the rules of the test.
type rawPeer struct {
	net.Conn
	reader *bufio.Reader
}

func rawDial(i *programtest.Server, said string) *rawPeer {
	i.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(i.URL, "http://"))
	if err != nil {
		i.T.Fatal(err)
	}
	i.T.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, said); err != nil {
		i.T.Fatal(err)
	}
	return &rawPeer{conn, bufio.NewReader(conn)}
}

const rawHandshake = "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"

// rawStream opens the stream and reads its greeting.
func rawStream(i *programtest.Server) *rawPeer {
	i.T.Helper()
	p := rawDial(i, rawHandshake+"\r\n")
	response, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		i.T.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		i.T.Fatal(response.Status)
	}
	if opcode, payload, err := p.frame(); err != nil || opcode != 1 || !bytes.Contains(payload, []byte("ready")) {
		i.T.Fatalf("no greeting: %q, %v", payload, err)
	}
	return p
}

// frame reads one frame.
func (p *rawPeer) frame() (opcode byte, payload []byte, err error) {
	var header [2]byte
	if _, err := io.ReadFull(p.reader, header[:]); err != nil {
		return 0, nil, err
	}
	length := int(header[1])
	if length > 125 {
		long := make([]byte, map[int]int{126: 2, 127: 8}[length])
		if _, err := io.ReadFull(p.reader, long); err != nil {
			return 0, nil, err
		}
		length = int(binary.BigEndian.Uint64(append(make([]byte, 8-len(long)), long...)))
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(p.reader, payload)
	return header[0] & 0x0f, payload, err
}

// end reads until the server closes the connection. code is the code in its close frame, 0 without one.
func (p *rawPeer) end(limit time.Duration) (code int, err error) {
	_ = p.SetReadDeadline(time.Now().Add(limit))
	for {
		opcode, payload, err := p.frame()
		switch {
		case err == nil && opcode == 8:
			code = int(binary.BigEndian.Uint16(payload))
		case err != nil:
			var timeout net.Error
			if code == 0 || errors.As(err, &timeout) && timeout.Timeout() {
				return code, err
			}
			return code, nil
		}
	}
}

// maskedFrame returns a client's frame, masked with zeros.
func maskedFrame(first byte, payload string) []byte {
	head := []byte{first}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	return append(append(head, 0, 0, 0, 0), payload...)
}

// p99 returns the 99th percentile of durations.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[min(len(times)-1, len(times)*99/100)]
}

// requestTimes sends requests sequentially, each on a new connection.
func requestTimes(i *programtest.Server, t *testing.T, n int) []time.Duration {
	t.Helper()
	times := make([]time.Duration, 0, n)
	for range n {
		began := time.Now()
		status, raw, err := i.Try(http.MethodGet, "/api/projects", nil)
		if err != nil || status != http.StatusOK {
			t.Fatalf("a new request: %d %s %v", status, raw, err)
		}
		times = append(times, time.Since(began))
	}
	return times
}
