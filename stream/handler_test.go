package stream

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"harness/internal/platform/journal"
)

func serveHandler(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func serve(t *testing.T, source Journal, opts Options, handler HandlerOptions) (*Hub, *httptest.Server) {
	t.Helper()
	h := startHub(t, source, opts)
	server := httptest.NewServer(NewHandler(h, handler))
	t.Cleanup(server.Close)
	return h, server
}

// peer is a websocket client that fails the test instead of returning errors.
type peer struct {
	t  *testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, server *httptest.Server, query string) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, server.URL+"/api/stream"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &peer{t, ws}
}

func (p *peer) read() string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind, data, err := p.ws.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	if kind != websocket.MessageText {
		p.t.Errorf("a %v frame", kind)
	}
	return string(data)
}

func (p *peer) want(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if got := p.read(); got != text {
			p.t.Fatalf("got %s, want %s", got, text)
		}
	}
}

func (p *peer) send(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if err := p.ws.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// sync makes sure that the server has executed every command sent so far.
func (p *peer) sync() {
	p.t.Helper()
	p.send(`{"type":"ping"}`)
	p.want(`{"type":"pong"}`)
}

func (p *peer) closeCode() websocket.StatusCode {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if _, _, err := p.ws.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

const (
	readyNull = `{"type":"ready","threadId":null}`
	errorText = `{"type":"error","message":"invalid websocket command"}`
)

// ST-01, ST-02, ST-10: the first frame.
func TestReady(t *testing.T) {
	t.Parallel()
	_, server := serve(t, newMemoryJournal(), Options{}, HandlerOptions{})
	for query, want := range map[string]string{
		"":                         readyNull,
		"?threadId=":               readyNull,
		"?threadId=A&threadId=B":   readyNull,
		"?foo=bar":                 readyNull,
		"?threadId=nope":           `{"type":"ready","threadId":"nope"}`,
		"?threadId=%22%3C%C3%A4":   `{"type":"ready","threadId":"\"<ä"}`,
		"?threadId=A&after=latest": `{"type":"ready","threadId":"A"}`,
	} {
		dial(t, server, query).want(want)
	}
}

// ST-03..ST-08, ST-10: the commands, over a socket, with the recorded answers.
func TestCommands(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	_, server := serve(t, j, Options{}, HandlerOptions{})
	p := dial(t, server, "?threadId=A")
	p.want(`{"type":"ready","threadId":"A"}`)
	event := func(thread string) string {
		return `{"type":"transcript_updated","threadId":"` + thread + `","payload":"x"}`
	}
	both := func() { appendAll(t, j, plainEvent("A", "x"), plainEvent("B", "x")) }

	both()
	p.want(event("A"))
	for _, invalid := range []string{`not json`, `{}`, `{"type":"nope"}`, `{"type":"subscribe"}`,
		`{"type":"subscribe","threadId":null}`, `   `, `{"type":"subscribe","threadId":"B","after":-1}`} {
		p.send(invalid)
		p.want(errorText)
	}
	if err := p.ws.Write(t.Context(), websocket.MessageBinary, []byte{0xff, 0x00}); err != nil {
		t.Fatal(err)
	}
	p.want(errorText)
	both() // the filter is unchanged
	p.want(event("A"))

	p.send(``) // no answer
	if err := p.ws.Write(t.Context(), websocket.MessageBinary,
		[]byte(`{"type":"subscribe","threadId":"B","extra":[]}`)); err != nil {
		t.Fatal(err)
	}
	p.sync()
	both()
	p.want(event("B"))
	p.send(`{"type":"unsubscribe"}`)
	p.sync()
	both()
	p.want(event("A"), event("B"))
}

// Invalid UTF-8 closes with 1007, a message over the limit with 1009, an unmasked frame with 1002: on the wire,
// including the close frame.
func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	_, server := serve(t, newMemoryJournal(), Options{}, HandlerOptions{ReadLimit: 100})
	for name, test := range map[string]struct {
		sent []byte
		code string
	}{
		"invalid UTF-8":   {unhex(t, "818201020304c22a"), "03ef"},
		"too big":         {append(unhex(t, "81fe006501020304"), make([]byte, 101)...), "03f1"},
		"unmasked":        {unhex(t, "810f7b2274797065223a2270696e67227d"), "03ea"},
		"reserved opcode": {unhex(t, "83810102030479"), "03ea"},
		"rsv1":            {unhex(t, "c1810102030479"), "03ea"},
		"continuation":    {unhex(t, "80810102030479"), "03ea"},
		"fragmented ping": {unhex(t, "098201020304696b"), "03ea"},
		"close 1000":      {unhex(t, "88820102030402ea"), "03e8"},
		"close 1005":      {unhex(t, "88820102030402ef"), "03ea"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, reader, _ := handshake(t, server, nil)
			requireBytes(t, reader, "8120"+hex.EncodeToString([]byte(readyNull)))
			if _, err := conn.Write(test.sent); err != nil {
				t.Fatal(err)
			}
			header := make([]byte, 4)
			if _, err := io.ReadFull(reader, header); err != nil {
				t.Fatal(err)
			}
			if header[0] != 0x88 || hex.EncodeToString(header[2:]) != test.code {
				t.Errorf("got %x, want a close frame with %s", header, test.code)
			}
		})
	}
}

// The recorded handshakes: a request that is not an upgrade gets an empty 404, a bad upgrade gets 400.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	_, server := serve(t, newMemoryJournal(), Options{}, HandlerOptions{})
	for name, test := range map[string]struct {
		header map[string]string
		status int
		body   string
	}{
		"plain": {map[string]string{"Upgrade": "", "Connection": ""}, 404, ""},
		"bad version": {map[string]string{"Sec-WebSocket-Version": "12"}, 400,
			"Missing or invalid Sec-WebSocket-Version header"},
		"no key":  {map[string]string{"Sec-WebSocket-Key": ""}, 400, "Missing or invalid Sec-WebSocket-Key header"},
		"bad key": {map[string]string{"Sec-WebSocket-Key": "xx"}, 400, "Missing or invalid Sec-WebSocket-Key header"},
		"other":   {map[string]string{"Upgrade": "h2c"}, 400, "Invalid Upgrade header"},
		"good": {map[string]string{"Sec-WebSocket-Protocol": "foo, bar",
			"Sec-WebSocket-Extensions": "permessage-deflate"}, 101, ""},
	} {
		_, _, response := handshake(t, server, test.header)
		if response.StatusCode != test.status {
			t.Errorf("%s: status %d", name, response.StatusCode)
		}
		switch test.status {
		case http.StatusSwitchingProtocols:
			if response.Header.Get("Sec-WebSocket-Protocol") != "foo" || response.Header.Get("Sec-WebSocket-Extensions") != "" {
				t.Errorf("%s: %v", name, response.Header)
			}
		default:
			body, _ := io.ReadAll(response.Body)
			if string(body) != test.body {
				t.Errorf("%s: body %q", name, body)
			}
			if test.status == http.StatusBadRequest && response.Header.Get("Content-Type") != "text/html" {
				t.Errorf("%s: %v", name, response.Header)
			}
		}
	}
}

// A foreign origin gets 403 before the upgrade, a bad cursor 400, a stopped hub 503: JSON, no socket.
func TestRefusals(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h, server := serve(t, j, Options{},
		HandlerOptions{OriginAllowed: func(r *http.Request) bool { return r.Header.Get("Origin") != "http://evil.example" }})
	status := func(query string, header map[string]string) (int, string) {
		_, _, response := handshakeAt(t, server, "/api/stream"+query, header)
		if response.StatusCode == http.StatusSwitchingProtocols {
			return response.StatusCode, ""
		}
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	if got, body := status("", map[string]string{"Origin": "http://evil.example"}); got != 403 ||
		!strings.Contains(body, `"code":"origin_not_allowed"`) {
		t.Errorf("foreign origin: %d %s", got, body)
	}
	if got, _ := status("", map[string]string{"Origin": "http://good.example"}); got != 101 {
		t.Errorf("allowed origin: %d", got)
	}
	for _, after := range []string{"", "-1", "x", "1.5", "%2B1", "9223372036854775808", "1&after=2"} {
		if got, body := status("?after="+after, nil); got != 400 || !strings.Contains(body, `"code":"invalid_request"`) {
			t.Errorf("after=%s: %d %s", after, got, body)
		}
	}
	j.failWith(io.ErrUnexpectedEOF)
	if got, _ := status("?after=1", nil); got != 503 {
		t.Errorf("no journal: %d", got)
	}
	stopHub(t, h)
	if got, _ := status("", nil); got != 503 {
		t.Errorf("stopped: %d", got)
	}
}

// Stop closes every socket with 1012.
func TestStopClosesSockets(t *testing.T) {
	t.Parallel()
	h, server := serve(t, newMemoryJournal(), Options{}, HandlerOptions{})
	p, q := dial(t, server, ""), dial(t, server, "?threadId=A")
	p.want(readyNull)
	codes := make(chan websocket.StatusCode, 2)
	for _, peer := range []*peer{p, q} {
		go func() { codes <- peer.closeCode() }()
	}
	stopHub(t, h)
	for range 2 {
		if code := <-codes; code != closeRestart {
			t.Errorf("closed with %d", code)
		}
	}
}

// A reader that stops is closed while the others are served. If it resumes reading in time, it gets 4008.
func TestStalledSocket(t *testing.T) {
	t.Parallel()
	slowConsumers := make(chan string, 1)
	j := newMemoryJournal()
	_, server := serve(t, j,
		Options{RingFrames: 64, Metrics: Metrics{SlowConsumer: func(why string) { slowConsumers <- why }}},
		HandlerOptions{Stall: 300 * time.Millisecond})
	conn, reader, _ := handshake(t, server, nil)
	healthy := dial(t, server, "?threadId=H")
	healthy.want(`{"type":"ready","threadId":"H"}`)

	// Larger than any socket buffer.
	big := strings.Repeat("x", 256<<10)
	go func() {
		for range 128 {
			_, _ = j.Append(context.Background(), plainEvent("A", big))
		}
		_, _ = j.Append(context.Background(), plainEvent("H", "still here"))
	}()
	select {
	case why := <-slowConsumers:
		if why != "stalled" {
			t.Errorf("counted as %s", why)
		}
	case <-time.After(patience):
		t.Fatal("the stalled reader was never noticed")
	}
	// It has five seconds: the frame in progress is finished, then the close frame follows.
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if code := lastFrame(t, reader); code != closeSlow {
		t.Errorf("closed with %d", code)
	}
	healthy.want(`{"type":"transcript_updated","threadId":"H","payload":"still here"}`)
}

// If the server closes while a text message is arriving, only one goroutine at a time reads the message. The reader
// must not access the buffer that the close drains. Only -race detects that.
func TestCloseInTheMiddleOfAText(t *testing.T) {
	t.Parallel()
	h, server := serve(t, newMemoryJournal(), Options{}, HandlerOptions{CloseTimeout: shortClose})
	conn, reader, _ := handshake(t, server, nil)
	requireBytes(t, reader, "8120"+hex.EncodeToString([]byte(readyNull)))
	half := said(strings.Repeat("x", 100))
	if _, err := conn.Write(half[:20]); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	for c := range h.clients {
		c.end(closeRestart, "service restart")
	}
	h.mu.Unlock()
	requireBytes(t, reader, "881103f4"+hex.EncodeToString([]byte("service restart")))
	if _, err := conn.Write(half[20:60]); err != nil {
		t.Fatal(err)
	}
	requireEmpty(t, h)
}

// A peer that answers no ping is dropped. The ping is a control frame, which browsers hide from the page.
func TestDeadPeerIsDropped(t *testing.T) {
	t.Parallel()
	// Enough time to write the ping before its answer is missed.
	_, server := serve(t, newMemoryJournal(), Options{PingEvery: 500 * time.Millisecond}, HandlerOptions{})
	_, reader, _ := handshake(t, server, nil)
	requireBytes(t, reader, "8120"+hex.EncodeToString([]byte(readyNull))+"8900")
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("%x, %v", rest, err)
	}
}

// A client's ping gets its pong between whole frames, while events are sent.
func TestControlFramesBetweenEvents(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	_, server := serve(t, j, Options{}, HandlerOptions{})
	p := dial(t, server, "?after=0")
	p.want(readyNull, `{"type":"resumed","from":0,"to":0}`)
	pinged := make(chan error, 1)
	go func() {
		for range 50 {
			if err := p.ws.Ping(t.Context()); err != nil {
				pinged <- err
				return
			}
		}
		pinged <- nil
	}()
	const events = 2000
	go func() {
		for range events {
			_, _ = j.Append(context.Background(), plainEvent("A", strings.Repeat("y", 500)))
		}
	}()
	for i := range events {
		if at := positionOf(t, p.read()); at != startOf(int64(i)+1) {
			t.Fatalf("event %d is at %d", i, at)
		}
	}
	// The pongs need a reader.
	reading, cancel := context.WithCancel(t.Context())
	go func() { _, _, _ = p.ws.Read(reading) }()
	if err := <-pinged; err != nil {
		t.Error(err)
	}
	cancel()
}

// A thousand connections leave no goroutine or other resource behind.
func TestNoGoroutineLeak(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	j := newMemoryJournal()
	h := NewHub(j, Options{})
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(NewHandler(h, HandlerOptions{}))
	for i := range 1000 {
		ws, _, err := websocket.Dial(t.Context(), server.URL+[]string{"", "?after=0", "?threadId=A"}[i%3], nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_ = ws.Close(websocket.StatusNormalClosure, "")
		} else {
			_ = ws.CloseNow()
		}
	}
	stopHub(t, h)
	server.Close()
	goleak.VerifyNone(t, ignore)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients)+len(h.views) != 0 || len(j.subscribers) != 0 {
		t.Errorf("%d clients, %d views, %d subscribers left", len(h.clients), len(h.views), len(j.subscribers))
	}
}

// ST-26, ST-09 over a socket: clients that never asked for positions get the original's frames, byte for byte.
func TestPlainFramesOnTheWire(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	_, server := serve(t, j, Options{}, HandlerOptions{})
	p := dial(t, server, "")
	p.want(readyNull)
	var events []journal.Event
	var want []string
	for _, one := range recordings(t) {
		events = append(events, recordOf(t, one.Frames).Event)
		want = append(want, one.Frames...)
	}
	appendAll(t, j, events...)
	var got []string
	for range want {
		got = append(got, p.read())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
