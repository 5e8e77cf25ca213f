package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/api/calls"
	"harness/api/conns"
	"harness/internal/services/audit"
	"harness/tests/polling"
)

// gate is a limiter on a socket, and its counts.
type gate struct {
	address string
	mu      sync.Mutex
	open    int
	reaped  map[string]int
	refused int
	limiter *conns.Limiter
	changed chan struct{} // replaced at every count
}

func (g *gate) count(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// wait waits until the condition on the counts holds.
func (g *gate) wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		g.mu.Lock()
		met, changed := condition(), g.changed
		g.mu.Unlock()
		if met {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("never: %s (open %d, reaped %v, refused %d)", what, g.open, g.reaped, g.refused)
		}
	}
}

func openGate(t *testing.T, options conns.Options, handler http.Handler) *gate {
	t.Helper()
	g := &gate{reaped: map[string]int{}, changed: make(chan struct{})}
	options.Metrics = conns.Metrics{
		Connections: func(delta int) { g.count(func() { g.open += delta }) },
		Reaped:      func(reason string) { g.count(func() { g.reaped[reason]++ }) },
		Refused:     func() { g.count(func() { g.refused++ }) },
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limiter := conns.NewLimiter(options)
	g.limiter = limiter
	server := limiter.Server(handler)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(limiter.Listener(listener)); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		g.wait(t, "every connection is counted out", func() bool { return g.open == 0 })
	})
	g.address = listener.Addr().String()
	return g
}

// dial opens a connection and sends the text.
func (g *gate) dial(t *testing.T, said string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, said); err != nil {
		t.Fatal(err)
	}
	return conn
}

// shortTime is a peer's timeout: long enough for a busy machine to send the next message in time.
const shortTime = 500 * time.Millisecond

// The server refuses a request with a header of more than 64 KiB, even if net/http would accept it. It serves a
// shorter one.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	g := openGate(t, conns.Options{HeaderTimeout: time.Minute, BodyTimeout: time.Minute, IdleTimeout: time.Minute},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for length, want := range map[int]int{60_000: 200, 65_000: 200, 66_000: 431, 70_000: 431, 80_000: 431, 1 << 20: 431} {
		for name, said := range map[string]string{
			"one field":   "GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", length) + "\r\n\r\n",
			"many fields": "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-L: "+strings.Repeat("x", 93)+"\r\n", length/100) + "\r\n",
			"the URL":     "GET /" + strings.Repeat("x", length) + " HTTP/1.1\r\nHost: a\r\n\r\n",
		} {
			conn := g.dial(t, "")
			go func() { _, _ = io.WriteString(conn, said) }() // the refusal may come before the server has read all of it
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s of %d bytes: %v", name, length, err)
				continue
			}
			text, _ := io.ReadAll(response.Body) // a truncated refusal lacks the limit
			_ = response.Body.Close()
			if response.StatusCode != want || want != 200 && length < 1<<17 && !strings.Contains(string(text), "65536 bytes") {
				t.Errorf("%s of %d bytes: %d %s, want %d", name, length, response.StatusCode, text, want)
			}
		}
	}
}

// Every incomplete request ends within its timeout, and a late body gets a 408.
func TestLatePeersAreDisconnected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := openGate(t, conns.Options{HeaderTimeout: shortTime, BodyTimeout: shortTime, IdleTimeout: shortTime},
		b.handler)
	for _, late := range []struct{ said, reason, answer string }{
		{"", "header", ""},
		{"GET /api/health HTTP/1.1\r\nHost: x\r\n", "header", ""},
		{"GET /api/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA\r\n",
			"header", ""},
		{"GET /api HTTP/1.1\r\nHost: x\r\n\r\n", "idle", "200 OK"},
		{"POST /api/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", "body",
			"408 Request Timeout"},
		{"POST /api/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
			"body", "408 Request Timeout"},
		// The server does not wait for a body that no handler reads.
		{"GET /api HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", "body", "200 OK"},
	} {
		t.Run(fmt.Sprintf("%.30q", late.said), func(t *testing.T) {
			g.mu.Lock()
			before := g.reaped[late.reason]
			g.mu.Unlock()
			began := time.Now()
			answer, err := io.ReadAll(g.dial(t, late.said))
			if err != nil || late.answer == "" && len(answer) > 0 || !strings.Contains(string(answer), late.answer) {
				t.Errorf("answer %q, %v", answer, err)
			}
			if took := time.Since(began); took < shortTime {
				t.Errorf("closed after %v already", took)
			}
			g.wait(t, late.reason, func() bool { return g.reaped[late.reason] == before+1 })
		})
	}
}

// A handler may take longer than the body timeout, because the timeout applies only to the peer.
func TestPeerTimeoutDoesNotLimitHandler(t *testing.T) {
	t.Parallel()
	g := openGate(t, conns.Options{BodyTimeout: shortTime, AnswerTimeout: shortTime, HeaderTimeout: shortTime},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			select {
			case <-r.Context().Done():
			case <-time.After(4 * shortTime):
				_, _ = w.Write(body)
			}
		}))
	conn := g.dial(t, "")
	reader := bufio.NewReader(conn)
	for range 2 { // the second request on the same connection: no deadline remains
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "ok" {
			t.Errorf("body %q, %v", body, err)
		}
		response.Body.Close()
	}
}

// The server disconnects a peer that requests much and reads nothing, but not a slow reader.
func TestStalledPeerIsDisconnectedAndSlowReaderIsNot(t *testing.T) {
	t.Parallel()
	const size = 16 << 20 // more than any socket buffer
	g := openGate(t, conns.Options{AnswerTimeout: 2 * shortTime},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, size))
		}))
	lazy := g.dial(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	g.wait(t, "the lazy reader is cut off", func() bool { return g.reaped["answer"] == 1 })
	if taken, _ := io.Copy(io.Discard, lazy); taken >= size {
		t.Errorf("it got everything: %d bytes", taken)
	}
	slow := g.dial(t, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	pace := time.Tick(shortTime / 10)
	began, taken := time.Now(), 0
	for chunk := make([]byte, 512<<10); ; <-pace {
		n, err := io.ReadFull(slow, chunk)
		if taken += n; err != nil {
			break
		}
	}
	if took := time.Since(began); taken < size || took < 2*shortTime {
		t.Errorf("the slow reader got %d bytes in %v", taken, took)
	}
}

// At the limit, the server closes the connection that has kept it waiting longest. If there is none, the new
// connection gets 503.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{})
	g := openGate(t, conns.Options{MaxConnections: 3},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				entered <- struct{}{}
				<-release
			}
			_, _ = w.Write([]byte("served"))
		}))
	defer close(release)
	oldest := g.dial(t, "GET / HTTP")
	g.wait(t, "open", func() bool { return g.open == 1 })
	trickler := g.dial(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
	g.wait(t, "open", func() bool { return g.open == 2 })
	busy := func() {
		g.dial(t, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
		<-entered
	}
	busy()
	busy()
	g.wait(t, "eviction", func() bool { return g.reaped["evicted"] == 1 })
	if rest, _ := io.ReadAll(oldest); len(rest) > 0 {
		t.Errorf("the evicted one got %q", rest)
	}
	busy()
	g.wait(t, "eviction", func() bool { return g.reaped["evicted"] == 2 })
	_, _ = io.Copy(io.Discard, trickler)

	answer, _ := io.ReadAll(g.dial(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	for _, part := range []string{"503 Service Unavailable", "Retry-After: 1", "Connection: close",
		`"code":"too_many_connections"`, "connections of HARNESS_LIMITS"} {
		if !strings.Contains(string(answer), part) {
			t.Errorf("no %q in %q", part, answer)
		}
	}
	g.wait(t, "refusal", func() bool { return g.refused == 1 && g.open == 3 })
}

// The audit log has changes that were refused for lack of a connection or because of their header, like any other
// change.
func TestRefusalsOfTheLimiterAreRecorded(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{})
	g := openGate(t, conns.Options{MaxConnections: 1, BasePath: "/agents", HeaderTimeout: time.Minute},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			entered <- struct{}{}
			<-release
		}))
	recorded := &calledLog{}
	setup(t, func(p *parts) {
		p.Calls, p.Limiters = recorded, []*conns.Limiter{g.limiter}
		p.Beside = func(r *http.Request) (calls.Route, bool) {
			return calls.Route{Protocol: "link", Name: r.Method + " /link/{link}"}, strings.HasPrefix(r.URL.Path, "/link/")
		}
	})
	refused := func(request string, status int) {
		t.Helper()
		answer, _ := io.ReadAll(g.dial(t, request))
		if !strings.Contains(string(answer), strconv.Itoa(status)) || !strings.Contains(string(answer), `"code":`) {
			t.Errorf("%.60s was answered %.300s", request, answer)
		}
	}
	const rest = " HTTP/1.1\r\nHost: x\r\n\r\n"
	refused("DELETE /api/projects/p HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 66_000)+"\r\n\r\n", 431)
	g.wait(t, "closed", func() bool { return g.open == 0 })
	g.dial(t, "GET /wait"+rest)
	<-entered
	defer close(release)
	refused("POST /api/sessions/s1/archive"+rest, 503)
	refused("POST /agents/api/sessions/s1/archive"+rest, 503)
	refused("POST /link/secret"+rest, 503)
	refused("GET /api/sessions"+rest, 503)
	refused("POST /nothing"+rest, 503)
	g.wait(t, "refusals", func() bool { return g.refused == 5 })
	archive := audit.Call{Actor: "anonymous", Protocol: "rest", Route: "POST /api/sessions/{sessionId}/archive", Outcome: "failed",
		Status: 503, Code: "too_many_connections"}
	header := audit.Call{Actor: "anonymous", Protocol: "rest", Route: "DELETE /api/projects/{projectId}", Outcome: "refused",
		Status: 431, Code: "request_failed"}
	link := archive
	link.Protocol, link.Route = "link", "POST /link/{link}"
	want := []audit.Call{header, archive, archive, link}
	var got []audit.Call
	if !polling.Until(5*time.Second, func() bool { // a request is recorded after its response
		recorded.mu.Lock()
		defer recorded.mu.Unlock()
		got = slices.Clone(recorded.all)
		return slices.Equal(got, want)
	}) {
		t.Errorf("recorded are\n%+v\nwant\n%+v", got, want)
	}
}

// A hijacked connection no longer belongs to the limiter, and has no deadlines.
func TestHijackedConnectionIsNotCounted(t *testing.T) {
	t.Parallel()
	taken := make(chan net.Conn, 1)
	g := openGate(t, conns.Options{HeaderTimeout: shortTime, AnswerTimeout: shortTime},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
			}
			taken <- conn
		}))
	peer := g.dial(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	conn := <-taken
	t.Cleanup(func() { _ = conn.Close() })
	g.wait(t, "counted out", func() bool { return g.open == 0 })
	for {
		wrapper, wraps := conn.(interface{ Unwrap() net.Conn })
		if !wraps {
			break
		}
		conn = wrapper.Unwrap()
	}
	if _, bare := conn.(*net.TCPConn); !bare {
		t.Errorf("inside is %T", conn)
	}
	late := time.AfterFunc(3*shortTime, func() { _, _ = io.WriteString(peer, "late") })
	defer late.Stop()
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Error(err)
	}
}
