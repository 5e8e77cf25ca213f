package bridge

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// patience bounds every wait; only a failure uses it up.
const patience = time.Minute

// FE-22: a lost connection is made again: the program gets an error for what is open, and what it has open follows.
func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conns := make(chan *websocket.Conn)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		conns <- conn
		<-ctx.Done()
	}))
	defer server.Close()
	defer cancel()
	stdin, program := io.Pipe()
	shown, stdout := io.Pipe()
	b := Bridge{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Header: http.Header{"Authorization": {"Bearer secret"}},
		Protocol: &AppServer{}}
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, stdin, stdout) }()
	lines := bufio.NewScanner(shown)

	say := func(text string) {
		t.Helper()
		if _, err := io.WriteString(program, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	gets := func(conn *websocket.Conn, want string) {
		t.Helper()
		_, got, err := conn.Read(ctx)
		if err != nil || !strings.Contains(string(got), want) {
			t.Fatalf("the server got %s, %v, not %s", got, err, want)
		}
	}
	answers := func(conn *websocket.Conn, text string) {
		t.Helper()
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the program got %s, not %s", lines.Text(), want)
		}
	}

	first := <-conns
	say(`{"id":"a","method":"initialize","params":{}}`)
	gets(first, `"initialize"`)
	answers(first, `{"id":"a","result":{}}`)
	shows(`"a"`)
	say(`{"id":1,"method":"thread/start","params":{}}`)
	gets(first, `"thread/start"`)
	answers(first, `{"id":1,"result":{"thread":{"id":"t-1"}}}`)
	shows(`"t-1"`)
	say(`{"id":2,"method":"turn/start","params":{"threadId":"t-1"}}`)
	gets(first, `"turn/start"`)
	_ = first.CloseNow()

	shows(`{"id":2,"error"`)
	second := <-conns
	gets(second, `"initialize"`)
	gets(second, `"threadId":"t-1"`)
	answers(second, `{"id":"bridge-initialize","result":{}}`) // the program asked for neither answer
	answers(second, `{"method":"turn/started","params":{"threadId":"t-1"}}`)
	shows(`"turn/started"`)
	second.CloseRead(ctx)
	_ = program.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// FE-23: a server that refuses the first connection ends the program, with the remedy.
func TestARefusedConnectionEnds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	b := Bridge{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Protocol: &AppServer{}}
	if err := b.Run(t.Context(), strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "harness login") {
		t.Errorf("the error is %v", err)
	}
}

// FE-22: the bridge ends with its program, also while there is no server, or one that does not answer, and with a message
// that could not be sent. What the program wrote before it ended is sent.
func TestTheBridgeEndsWithItsProgram(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*httptest.Server, *atomic.Bool){
		"connected": nil,
		"no server": func(server *httptest.Server, _ *atomic.Bool) { _ = server.Listener.Close() },
		"frozen":    func(_ *httptest.Server, frozen *atomic.Bool) { frozen.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var frozen atomic.Bool
			conns, tried := make(chan *websocket.Conn, 1), make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if frozen.Load() {
					tried <- struct{}{}
					<-ctx.Done()
					return
				}
				if conn, err := websocket.Accept(w, r, nil); err == nil {
					conns <- conn
					<-ctx.Done()
				}
			}))
			defer server.Close()
			defer cancel()
			stdin, program := io.Pipe()
			b := Bridge{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Protocol: &AppServer{}}
			ended := make(chan error, 1)
			go func() { ended <- b.Run(ctx, stdin, io.Discard) }()
			conn := <-conns
			if lose != nil {
				lose(server, &frozen)
				_ = conn.CloseNow()
			}
			if frozen.Load() {
				<-tried
			}
			if _, err := io.WriteString(program, `{"id":1,"method":"thread/list","params":{}}`+"\n"); err != nil {
				t.Fatal(err)
			}
			_ = program.Close()
			if lose == nil {
				if _, got, err := conn.Read(ctx); err != nil || !strings.Contains(string(got), "thread/list") {
					t.Errorf("the server got %s, %v", got, err)
				}
			}
			began := time.Now()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("it ended after %s", took)
			}
		})
	}
}
