package bridge

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
