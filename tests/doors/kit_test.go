// Package doors tests that the protocols for front ends agree with each other and with REST on the same sessions.
package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rs/zerolog"

	"harness/api"
	"harness/api/acp"
	"harness/api/agui"
	"harness/api/appserver"
	"harness/api/door"
	"harness/api/rpc"
	"harness/api/sse"
	"harness/internal/lib/wake"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

const patience = time.Minute

func TestMain(m *testing.M) { scripted.Main(m) }

// site serves every protocol for the same sessions of the scripted agent.
type site struct {
	*sessiontest.Site
	t   *testing.T
	url string
}

// noHealth is for routes that nothing here asks for.
type noHealth struct{ api.Health }

// records are the records of the site's journal.
type records struct{ *sessiontest.Site }

// ReadSession implements agui.Journal.
func (r records) ReadSession(ctx context.Context, session string, after int64, limit int) ([]journal.Record, error) {
	return r.Journal.ReadSession(ctx, session, after, limit)
}

// Newest implements agui.Journal.
func (r records) Newest(ctx context.Context, session string) (int64, error) {
	return journal.Sequence(ctx, r.DB.Read(), session)
}

func open(t *testing.T) *site {
	t.Helper()
	s := &site{Site: sessiontest.Open(t, dbtest.Open(t, database.SQLite)), t: t}
	ops := operations.New(operations.Options{Sessions: sessiontest.Parts(s.Service), Controls: s.Site, Runtimes: s.Site,
		Events: stream.Browser{Journal: s.Journal}})
	forDoors := door.NewOperations(ops, nil, nil)
	app, err := appserver.New(appserver.Options{Journal: s.Journal, Version: "1", Refused: func(string) {}, Operations: forDoors})
	if err != nil {
		t.Fatal(err)
	}
	editors, err := acp.New(acp.Options{Journal: s.Journal, Version: "1", Refused: func(string) {}, Operations: forDoors})
	if err != nil {
		t.Fatal(err)
	}
	calls, err := rpc.New(rpc.Options{Operations: forDoors, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	hub := stream.NewHub(s.Journal, stream.Options{Logger: zerolog.Nop()})
	s.Start(hub)
	s.Start(app)
	s.Start(editors)
	s.Start(calls)
	sockets := stream.NewHandler(hub, stream.HandlerOptions{})
	closing := make(chan struct{})
	served := httptest.NewServer(api.New(api.Options{Health: noHealth{}, Operations: ops,
		Access: api.Access{Guard: caller, Actor: func(r *http.Request) string { return r.Header.Get("Actor") }},
		Protocols: api.Protocols{Stream: sockets, RPC: api.RPC{Post: calls.Post()},
			Doors: map[string]http.Handler{"/": sockets.For(app).Reading(appserver.MaxMessage),
				"/acp": editors.Handler(sockets.For(editors).Reading(acp.MaxMessage))},
			AGUI: agui.Options{Journal: records{s.Site}, Closing: closing, Streams: &sse.Limit{Most: 100},
				News: func(string) (<-chan struct{}, func()) {
					news := wake.New()
					_, cancel := s.Journal.Subscribe(func([]journal.Record) { news.Set() })
					return news, cancel
				}}}}))
	t.Cleanup(func() {
		close(closing)
		served.Close()
	})
	s.url = served.URL
	return s
}

// caller makes the header Actor an operator.
func caller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal := auth.Principal{Actor: r.Header.Get("Actor"), Role: auth.RoleOperator}
		next.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), principal)))
	})
}

// post sends a body and returns the answer.
func (s *site) post(actor, path, body string) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Actor", actor)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	_ = response.Body.Close()
	return response.StatusCode, answer, err
}

// socket is a connection of a protocol on websockets.
type socket struct {
	conn *websocket.Conn
	next int
}

// frame is one message of the server.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

func (s *site) dial(actor, path string) *socket {
	s.t.Helper()
	conn, _, err := websocket.Dial(s.t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+path,
		&websocket.DialOptions{HTTPHeader: http.Header{"Actor": {actor}}})
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{conn: conn}
}

// tui connects a client of codex's app-server.
func (s *site) tui(actor string) *socket {
	s.t.Helper()
	c := s.dial(actor, "/")
	s.call(c, "initialize", `{"clientInfo":{"name":"codex-tui","version":"0.171.0"},"capabilities":{"experimentalApi":true}}`)
	return c
}

// editor connects a client of the Agent Client Protocol.
func (s *site) editor(actor string) *socket {
	s.t.Helper()
	c := s.dial(actor, "/acp")
	s.call(c, "initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	return c
}

func (c *socket) send(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageText, []byte(text))
}

func (c *socket) read() (f frame, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, text, err := c.conn.Read(ctx)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}

// until returns the next message that fits.
func (c *socket) until(fits func(f frame) bool) (frame, error) {
	for {
		if f, err := c.read(); err != nil || fits(f) {
			return f, err
		}
	}
}

// call sends a request and returns its result. It drops the messages before it.
func (s *site) call(c *socket, method, params string) json.RawMessage {
	s.t.Helper()
	c.next++
	id := fmt.Sprintf(`"call-%d"`, c.next)
	if err := c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`); err != nil {
		s.t.Fatal(err)
	}
	f, err := c.until(func(f frame) bool { return f.Method == "" && string(f.ID) == id })
	if err != nil || len(f.Error) > 0 {
		s.t.Fatalf("%s %s: %v %s", method, params, err, f.Error)
	}
	return f.Result
}
