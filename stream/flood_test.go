package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// shortClose is how long to wait for peers that do not answer a close frame.
const shortClose = 200 * time.Millisecond

// tally counts the reasons that the hub reports.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[reason]++
}

func (c *tally) of(reason string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[reason]
}

func (c *tally) all() (sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.counts {
		sum += n
	}
	return sum
}

// said returns a client's text frame.
func said(text string) []byte {
	frame := masked(0x81, len(text))
	copy(frame[len(frame)-len(text):], text)
	return frame
}

// awaitClose reads until the server ends the connection, and returns the close frame's code and reason. It never
// answers the close frame.
func awaitClose(t *testing.T, reader *bufio.Reader) (code int, reason string) {
	t.Helper()
	for {
		header := make([]byte, 2)
		if _, err := io.ReadFull(reader, header); err != nil {
			t.Fatalf("ended without a close frame: %v", err)
		}
		length := int64(header[1])
		switch header[1] {
		case 126:
			var long [2]byte
			_, _ = io.ReadFull(reader, long[:])
			length = int64(binary.BigEndian.Uint16(long[:]))
		case 127:
			t.Fatal("a frame of 64 KiB")
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(reader, payload); err != nil {
			t.Fatal(err)
		}
		if header[0] == 0x88 {
			rest, err := io.ReadAll(reader)
			if len(rest) > 0 {
				t.Errorf("%d bytes after the close frame (%v)", len(rest), err)
			}
			return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
		}
	}
}

// A peer that floods is closed with 1008 and the reason, whatever it sends; the same input at an allowed rate is
// served.
func TestFloodsAreClosed(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string][]byte{
		"commands":    said(`{"type":"ping"}`),
		"subscribes":  said(`{"type":"subscribe","threadId":"T","after":0}`),
		"nonsense":    said(`x`),
		"empty":       masked(0x81, 0),
		"pings":       masked(0x89, 100),
		"pongs":       masked(0x8a, 0),
		"large":       masked(0x82, 100<<10),
		"fragments":   bytes.Repeat(masked(0x00, 0), 100),
		"byte frames": bytes.Repeat(masked(0x00, 1), 100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var closed tally
			_, server := serve(t, newMemoryJournal(), Options{Metrics: Metrics{Closed: closed.add}},
				HandlerOptions{Rate: 10, Burst: 100, CloseTimeout: time.Second})
			conn, reader, _ := handshake(t, server, nil)
			written := make(chan struct{})
			go func() {
				defer close(written)
				if flood[0] == 0 { // a message for the fragments
					_, _ = conn.Write(masked(0x01, 1))
				}
				for range 10_000 {
					if _, err := conn.Write(flood); err != nil {
						return
					}
				}
				// It finally closes, as a library would, so the server need not wait for it.
				_, _ = conn.Write(append(masked(0x88, 2)[:6], 0x03, 0xe8))
			}()
			if code, reason := awaitClose(t, reader); code != closePolicy || reason != "too many messages" {
				t.Errorf("closed with %d %q", code, reason)
			}
			<-written
			if closed.of("rate") != 1 {
				t.Errorf("counted %v", closed.counts)
			}
		})
	}
}

// An unfinished message ends its connection when its time is over, however slowly its bytes arrive. The peer's pings do
// not prevent that.
func TestUnfinishedMessagesAreReaped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ begun, trickle []byte }{
		"one byte":        {[]byte{0x81}, nil},
		"half a header":   {masked(0x81, 300)[:5], nil},
		"half a payload":  {masked(0x81, 300)[:100], []byte("x")},
		"half a ping":     {masked(0x89, 100)[:50], nil},
		"half a message":  {masked(0x01, 3), masked(0x89, 0)},
		"fragment by one": {masked(0x01, 3), masked(0x00, 1)},
		"after a command": {append(said(`{"type":"ping"}`), 0x81), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const timeout = 300 * time.Millisecond
			var closed tally
			h, server := serve(t, newMemoryJournal(), Options{Metrics: Metrics{Closed: closed.add}},
				HandlerOptions{MessageTimeout: timeout, CloseTimeout: shortClose})
			conn, reader, _ := handshake(t, server, nil)
			// A connection between messages has no time limit.
			pause := time.NewTimer(2 * timeout)
			<-pause.C
			began := time.Now()
			if _, err := conn.Write(test.begun); err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				pace := time.Tick(timeout / 10)
				for len(test.trickle) > 0 {
					select {
					case <-stop:
						return
					case <-pace:
						_, _ = conn.Write(test.trickle)
					}
				}
			}()
			if code, reason := awaitClose(t, reader); code != closePolicy || reason != "message not finished in time" {
				t.Errorf("closed with %d %q", code, reason)
			}
			if took := time.Since(began); took < timeout || took > timeout+shortClose+shortened*2*time.Second {
				t.Errorf("gone after %v", took)
			}
			if closed.of("unfinished") != 1 {
				t.Errorf("counted %v", closed.counts)
			}
			requireEmpty(t, h)
		})
	}
}

// requireEmpty waits until the hub has no client.
func requireEmpty(t *testing.T, h *Hub) {
	t.Helper()
	eventually(t, "no client is left", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.clients) == 0
	})
}

// eventually polls for a condition that has no notification.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	pace := time.Tick(5 * time.Millisecond)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-pace
	}
}

// The server does not wait for a peer that it closes in the middle of a frame and that stops sending: neither for its
// frame nor for its close.
func TestAPeerThatStopsWhileItIsClosedIsReaped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sent []byte
		code int
	}{
		"too big": {masked(0x81, 1000)[:150], closeTooBig},
		"UTF-8":   {append(masked(0x81, 50)[:6], 0xff, 0xff), closeUTF8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, server := serve(t, newMemoryJournal(), Options{},
				HandlerOptions{ReadLimit: 100, CloseTimeout: shortClose, MessageTimeout: time.Hour})
			conn, reader, _ := handshake(t, server, nil)
			if _, err := conn.Write(test.sent); err != nil {
				t.Fatal(err)
			}
			if code, _ := awaitClose(t, reader); code != test.code {
				t.Errorf("closed with %d", code)
			}
			requireEmpty(t, h)
		})
	}
}

// A slow but steady peer is served: only a message has a time limit, not the connection.
func TestSlowMessageIsAccepted(t *testing.T) {
	t.Parallel()
	_, server := serve(t, newMemoryJournal(), Options{}, HandlerOptions{MessageTimeout: 10 * time.Second})
	conn, reader, _ := handshake(t, server, nil)
	skip := make([]byte, 2+len(readyNull))
	if _, err := io.ReadFull(reader, skip); err != nil {
		t.Fatal(err)
	}
	for _, b := range said(`{"type":"ping"}`) {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	answer := make([]byte, 2+len(`{"type":"pong"}`))
	if _, err := io.ReadFull(reader, answer); err != nil || string(answer[2:]) != `{"type":"pong"}` {
		t.Errorf("%q, %v", answer, err)
	}
}

// Large messages share a budget, so that many connections cannot fill the memory with messages that they never finish.
func TestLargeMessagesShareABudget(t *testing.T) {
	t.Parallel()
	var closed tally
	h := startHub(t, newMemoryJournal(), Options{Metrics: Metrics{Closed: closed.add}})
	handler := NewHandler(h, HandlerOptions{CloseTimeout: shortClose})
	server := serveHandler(t, handler)
	_, large, _ := handshake(t, server, nil)
	_ = large
	handler.large.used.Store(messageBytes - 100<<10)
	small := func() (net.Conn, *bufio.Reader) {
		conn, reader, _ := handshake(t, server, nil)
		return conn, reader
	}
	conn, reader := small()
	if _, err := conn.Write(masked(0x82, 200<<10)); err != nil {
		t.Fatal(err)
	}
	if code, reason := awaitClose(t, reader); code != closeBusy || reason != "too many large messages at once" {
		t.Errorf("closed with %d %q", code, reason)
	}
	conn, reader = small()
	if _, err := conn.Write(masked(0x82, 60<<10)); err != nil {
		t.Fatal(err)
	}
	want := errorText
	answer := make([]byte, 2+len(readyNull)+2+len(want))
	if _, err := io.ReadFull(reader, answer); err != nil || !strings.HasSuffix(string(answer), want) {
		t.Errorf("%q, %v", answer, err)
	}
	if used := handler.large.used.Load(); used != messageBytes-100<<10 {
		t.Errorf("%d bytes were not given back", used-(messageBytes-100<<10))
	}
	if closed.of("memory") != 1 {
		t.Errorf("counted %v", closed.counts)
	}
}

// Connections beyond a bound are refused before the upgrade, with the remedy; closing a connection frees its slot.
func TestConnectionBounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts   HandlerOptions
		status int
		code   string
		remedy string
	}{
		"all together": {HandlerOptions{MaxConnections: 2}, http.StatusServiceUnavailable, "too_many_connections",
			"streams of HARNESS_LIMITS"},
		"of one address": {HandlerOptions{MaxPerAddress: 2}, http.StatusTooManyRequests, "too_many_connections_per_address",
			"streams-per-address of HARNESS_LIMITS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refused tally
			h, server := serve(t, newMemoryJournal(), Options{Metrics: Metrics{Refused: refused.add}}, test.opts)
			// A failed handshake takes no slot.
			for range 5 {
				if _, _, response := handshakeAt(t, server, "/api/stream?after=x",
					nil); response.StatusCode != http.StatusBadRequest {
					t.Fatal(response.Status)
				}
			}
			first, _, _ := handshake(t, server, nil)
			dial(t, server, "?threadId=T")
			_, _, response := handshake(t, server, nil)
			body, _ := io.ReadAll(response.Body)
			if response.StatusCode != test.status || response.Header.Get("Retry-After") == "" ||
				!strings.Contains(string(body), `"code":"`+test.code+`"`) || !strings.Contains(string(body), test.remedy) {
				t.Errorf("refused with %d %v %s", response.StatusCode, response.Header, body)
			}
			if refused.of("connections")+refused.of("address") != 1 {
				t.Errorf("counted %v", refused.counts)
			}
			_ = first.Close()
			deadline := time.Now().Add(patience)
			for {
				h.mu.Lock()
				left := len(h.clients)
				h.mu.Unlock()
				if left == 1 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the place was never left")
				}
			}
			for status := 0; status != http.StatusSwitchingProtocols; {
				_, _, again := handshake(t, server, nil)
				if status = again.StatusCode; time.Now().After(deadline) {
					t.Fatalf("a place that was left is refused with %d", status)
				}
			}
		})
	}
}
