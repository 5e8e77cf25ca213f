package stream

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"harness/internal/platform/journal"
)

// tap counts the TLS records that arrive over a connection.
type tap struct {
	net.Conn
	mu      sync.Mutex
	header  []byte
	left    int
	records int
}

const (
	recordHeader    = 5
	applicationData = 23
)

func (r *tap) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	for data := p[:n]; len(data) > 0; {
		if r.left > 0 {
			skip := min(r.left, len(data))
			r.left -= skip
			data = data[skip:]
			continue
		}
		r.header = append(r.header, data[0])
		if data = data[1:]; len(r.header) == recordHeader {
			if r.header[0] == applicationData {
				r.records++
			}
			r.left = int(binary.BigEndian.Uint16(r.header[3:]))
			r.header = r.header[:0]
		}
	}
	return n, err
}

func (r *tap) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records
}

// vain accepts connections, and counts writes to a connection that has just accepted nothing until its deadline.
type vain struct {
	net.Listener
	writes atomic.Int64
}

type vainConn struct {
	net.Conn
	listener *vain
	late     atomic.Bool
}

func (v *vain) Accept() (net.Conn, error) {
	conn, err := v.Listener.Accept()
	return &vainConn{Conn: conn, listener: v}, err
}

func (c *vainConn) Write(p []byte) (int, error) {
	if c.late.Load() {
		c.listener.writes.Add(1)
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.late.Store(true)
	}
	return n, err
}

// startTLS starts a server that writes each batch as one record.
func startTLS(t *testing.T, server *httptest.Server) {
	t.Helper()
	server.TLS = &tls.Config{DynamicRecordSizingDisabled: true, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
}

// upgradeTLS opens a stream over TLS on a connection.
func upgradeTLS(t *testing.T, server *httptest.Server, conn net.Conn) (*tls.Conn, *bufio.Reader) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	secure := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS13})
	reader, _ := upgrade(t, secure, server.URL+"/api/stream", nil)
	if first, payload, err := readFrame(reader); err != nil || first != 0x81 || string(payload) != readyNull {
		t.Fatalf("%x %s, %v", first, payload, err)
	}
	return secure, reader
}

// Under TLS a batch is sent as one record, not as one per frame; frames are whole and in order.
func TestABatchIsOneRecordUnderTLS(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	server := httptest.NewUnstartedServer(NewHandler(h, HandlerOptions{}))
	startTLS(t, server)
	bare, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	watched := &tap{Conn: bare}
	_, reader := upgradeTLS(t, server, watched)
	before := watched.count()
	const rounds, round = 20, maxBatchFrames
	for i := range rounds {
		var events []journal.Event
		for k := range round {
			events = append(events, plainEvent("A", fmt.Sprintf("%d.%d", i, k)))
		}
		appendAll(t, j, events...)
		for _, frame := range shownOf(t, j)[i*round:] {
			if first, payload, err := readFrame(reader); err != nil || first != 0x81 || string(payload) != frame.plain {
				t.Fatalf("got %x %s, %v; want %s", first, payload, err, frame.plain)
			}
		}
	}
	if records := watched.count() - before; records != rounds {
		t.Errorf("%d batches left in %d records", rounds, records)
	}
}

// A reader over TLS stops for a while. The server answers its request before the waiting events. The reader gets a gap
// notice, and everything else, whole and in order.
func TestASlowReaderUnderTLS(t *testing.T) {
	t.Parallel()
	var counted reasonCounts
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingFrames: 64, Metrics: counted.metrics()})
	server := newNarrow(t, NewHandler(h, HandlerOptions{Stall: time.Hour}))
	startTLS(t, server)
	bare := dialNarrow(t, server)
	slow, reader := upgradeTLS(t, server, bare)
	only := func(holds func(c *client) bool) func() bool {
		return func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			for c := range h.clients {
				c.mu.Lock()
				defer c.mu.Unlock()
				return holds(c)
			}
			return false
		}
	}
	// Larger than any buffer: once it is started, nothing else is sent until the client reads it.
	appendAll(t, j, plainEvent("A", strings.Repeat("y", 4<<20)))
	eventually(t, "the large one is begun", only(func(c *client) bool {
		s := c.conn.(*websocketConn).socket
		s.mu.Lock()
		defer s.mu.Unlock()
		return c.at == c.view.head() && s.busy
	}))
	const events = 300
	for i := range events / 10 {
		appendAll(t, j, mixed(i*10, 10)...)
	}
	ping := masked(0x89, 3)
	for _, sent := range [][]byte{ping, said(`{"type":"ping"}`)} {
		if _, err := slow.Write(sent); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the request is received", only(func(c *client) bool { return len(c.answers) > 0 }))
	widen(t, bare)
	var texts []string
	answered, ponged := -1, -1
	owed := shownOf(t, j)
	for len(texts) == 0 || texts[len(texts)-1] != owed[len(owed)-1].plain {
		first, payload, err := readFrame(reader)
		switch {
		case err != nil:
			t.Fatal(err)
		case first == 0x8a && len(payload) == 3:
			ponged = len(texts)
		case first != 0x81:
			t.Fatalf("frame header %x", first)
		case string(payload) == `{"type":"pong"}`:
			answered = len(texts)
		default:
			texts = append(texts, string(payload))
		}
	}
	gaps, missing, _ := account(t, texts, owed)
	if gaps == 0 || gaps != counted.gaps.of("skipped") || missing == 0 || missing != counted.skipped.of("") ||
		counted.catchUps.of("overflow") != 1 {
		t.Errorf("%d gaps (%d counted), %d frames missing (%d counted), %v catch-ups",
			gaps, counted.gaps.of("skipped"), missing, counted.skipped.of(""), counted.catchUps.of("overflow"))
	}
	// Ahead of them is only the message in progress when it stopped.
	if ponged != 1 || answered != 1 {
		t.Errorf("answered after %d and %d of %d texts", ponged, answered, len(texts))
	}
}

// A reader over TLS that stops permanently is detected and disconnected. It gets no close code, since a TLS record was
// in progress. The others are served, and no resource leaks.
func TestAStalledReaderUnderTLS(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	var counted reasonCounts
	j := newMemoryJournal()
	h := NewHub(j, Options{RingFrames: 64, Metrics: counted.metrics()})
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := newNarrow(t, NewHandler(h, HandlerOptions{Stall: 300 * time.Millisecond, CloseTimeout: shortClose}))
	vain := &vain{Listener: server.Listener}
	server.Listener = vain
	startTLS(t, server)
	bare := dialNarrow(t, server)
	_, reader := upgradeTLS(t, server, bare)
	wide, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, fromOther := upgradeTLS(t, server, wide)

	const rounds, round = 8, 10
	seen := 0
	for i := range rounds {
		appendAll(t, j, mixed(i*round, round)...)
		for _, frame := range shownOf(t, j)[seen:] {
			seen++
			if _, payload, err := readFrame(fromOther); err != nil || string(payload) != frame.plain {
				t.Fatalf("the other one: %.80s, %v; want %.80s", payload, err, frame.plain)
			}
		}
	}
	eventually(t, "the stalled reader is found out", func() bool { return counted.slow.of("stalled") == 1 })
	// The first connection to end is the stalled one.
	eventually(t, "it is cut off", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.clients) == 1
	})
	if n := vain.writes.Load(); n > 0 {
		t.Errorf("%d more records for a reader that is cut off, each seconds long", n)
	}
	widen(t, bare)
	var texts []string
	for {
		first, payload, err := readFrame(reader)
		if err != nil {
			break
		}
		if first != 0x81 {
			t.Fatalf("frame header %x", first)
		}
		texts = append(texts, string(payload))
	}
	if _, _, left := account(t, texts, shownOf(t, j)); left == 0 {
		t.Error("it got everything")
	}
	_ = other.Close()
	_ = bare.Close()
	stopHub(t, h)
	server.Close()
	goleak.VerifyNone(t, ignore)
}
