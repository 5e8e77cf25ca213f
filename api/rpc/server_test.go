package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rs/zerolog"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/goleak"

	"harness/api/calls"
	"harness/api/door"
	"harness/api/rpc"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/database"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	if scripted.Play() {
		return
	}
	goleak.VerifyTestMain(m)
}

// bench is a JSON-RPC server with real sessions of the scripted agent.
type bench struct {
	*sessiontest.Site
	server *rpc.Server
	url    string
	role   auth.Role // the role of every caller
	calls  recordedCalls
	access context.Context
	revoke context.CancelFunc // ends the access of the actor "revoked"
	t      *testing.T
}

// open creates a bench with sessions but without a server.
func open(t *testing.T) *bench {
	t.Helper()
	b := &bench{Site: sessiontest.Open(t, dbtest.Open(t, database.SQLite)), role: auth.RoleAdmin, t: t}
	b.access, b.revoke = context.WithCancel(context.Background())
	t.Cleanup(b.revoke)
	return b
}

func setup(t *testing.T, change func(*rpc.Options)) *bench {
	t.Helper()
	b := open(t)
	options := rpc.Options{
		Operations: door.NewOperations(operations.New(operations.Options{Sessions: sessiontest.Parts(b.Service), Controls: b.Site,
			Runtimes: b.Site}), nil, nil),
		Version: "1"}
	if change != nil {
		change(&options)
	}
	b.serve(t, options)
	return b
}

// serve starts the server of the bench.
func (b *bench) serve(t *testing.T, options rpc.Options) {
	t.Helper()
	var err error
	if b.server, err = rpc.New(options); err != nil {
		t.Fatal(err)
	}
	hub := stream.NewHub(b.Journal, stream.Options{Logger: zerolog.Nop()})
	b.Start(hub)
	b.Start(b.server)
	sockets := stream.NewHandler(hub, stream.HandlerOptions{
		Access: func(r *http.Request) context.Context { return auth.AccessFrom(r.Context()) }}).For(b.server)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		actor := r.Header.Get("Actor")
		r = r.WithContext(auth.WithPrincipal(r.Context(), auth.Principal{Actor: actor, Role: b.role}))
		if actor == "revoked" {
			r = r.WithContext(auth.WithAccess(r.Context(), b.access))
		}
		if r.Method == http.MethodPost {
			b.server.Post().ServeHTTP(w, r)
			return
		}
		rpc.Upgrades(sockets).ServeHTTP(w, r)
	})
	served := httptest.NewServer(calls.Middleware(&b.calls, func(*http.Request) (calls.Route, bool) {
		return calls.Route{}, false
	}, handler))
	t.Cleanup(served.Close)
	b.url = served.URL
}

// socket is one connection.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

func (b *bench) dial(t *testing.T, actor string) *socket {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(b.url, "http"),
		&websocket.DialOptions{HTTPHeader: http.Header{"Actor": {actor}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{t, conn}
}

func (s *socket) send(text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) read() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	_, text, err := s.conn.Read(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// R19: for any input, the socket stays open and responds as JSON-RPC 2.0 requires.
func TestMalformedInputKeepsTheSocket(t *testing.T) {
	t.Parallel()
	s := setup(t, nil).dial(t, "alice")
	for _, one := range []struct{ said, want string }{
		{`not json`, `"id":null,"error":{"code":-32700`},
		{``, `"id":null,"error":{"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":`, `"id":null,"error":{"code":-32700`},
		{`[1,2`, `"id":null,"error":{"code":-32700`},
		{`7`, `"id":null,"error":{"code":-32600`},
		{`null`, `"id":null,"error":{"code":-32600`},
		{`{}`, `"id":null,"error":{"code":-32600`},
		{`[]`, `"id":null,"error":{"code":-32600`},
		{`[1]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":7.9,"method":"status/health"}`, `"id":7.9,"result"`},
		{`{"jsonrpc":"2.0","id":[1],"method":"status/health"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":false,"method":"status/health"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"status/health"}`, `"id":9007199254740993,"result"`},
		{`{"jsonrpc":"2.0","id":null,"method":"status/health"}`, `"id":null,"result"`},
		{`{"id":2,"method":"status/health"}`, `"id":2,"error":{"code":-32600`},
		{`{"jsonrpc":2.0,"id":2,"method":"status/health"}`, `"id":2,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":3}`, `"id":3,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":3,"method":9}`, `"id":3,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":4,"method":"session/start","params":"text"}`, `"id":4,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":4,"method":"session/start","params":[1]}`, `"id":4,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":5,"method":"none/such","params":{}}`, `"id":5,"error":{"code":-32601`},
		{`{"jsonrpc":"2.0","id":6,"method":"status/health","more":1,"params":{"strange":[{}]}}`, `"id":6,"result"`},
		{strings.Repeat("[", 20_000), `"id":null,"error":{"code":-32700`},
	} {
		s.send(`{"jsonrpc":"2.0","method":"none/such"}`) // a notification gets no response, even for an unknown method
		s.send(one.said)
		if got := s.read(); !strings.Contains(got, one.want) || strings.Contains(got, "json:") ||
			strings.Contains(got, ".go") {
			t.Errorf("%.80s got\n%s, want\n%s", one.said, got, one.want)
		}
	}
}

// A response follows all events committed before it, and precedes later ones.
func TestResponseFollowsEarlierEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *rpc.Options) { o.Rate = 0 })
	s := b.dial(t, "alice")
	session := b.NewSession()
	s.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"notifications":["event/harness"],"cursor":true}}}`)
	s.read()
	s.send(`{"jsonrpc":"2.0","id":0,"method":"session/watch","params":{"session_id":"` + session + `"}}`)
	s.read()
	const times = 200
	seen := make(map[int]bool)
	for n := range times {
		if _, err := b.StopSession(t.Context(), session, false); err != nil { // an internal event, which has no frame on the stream
			t.Fatal(err)
		}
		if _, err := b.Rename(t.Context(), session, fmt.Sprint("title ", n)); err != nil {
			t.Fatal(err)
		}
		b.upsert(session, n)
		// Events stored before the call arrive before its response.
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"status/health"}`, n+1))
		for answered := false; !answered; {
			var m struct {
				ID     *int `json:"id"`
				Params struct {
					Type    string `json:"type"`
					Payload struct {
						Message struct {
							ID string `json:"messageId"`
						} `json:"entry"`
					} `json:"payload"`
				} `json:"params"`
			}
			text := s.read()
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatal(err)
			}
			if m.ID == nil {
				seen[n] = seen[n] || strings.Contains(text, fmt.Sprintf("entry-%d\"", n))
				continue
			}
			if answered = true; !seen[n] {
				t.Fatalf("answer %d came before the event of entry %d", *m.ID, n)
			}
		}
	}
}

// A socket whose access was revoked is closed with 1008, and no other socket is. An insufficient role is refused.
func TestRevokedAccessClosesSocket(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	revoked, other := b.dial(t, "revoked"), b.dial(t, "other")
	for _, s := range []*socket{revoked, other} {
		s.send(`{"jsonrpc":"2.0","id":1,"method":"status/health"}`)
		s.read()
	}
	b.revoke()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := revoked.conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("its socket ended with %v", err)
	}
	other.send(`{"jsonrpc":"2.0","id":2,"method":"status/health"}`)
	if got := other.read(); !strings.Contains(got, `"id":2,"result"`) {
		t.Error(got)
	}
	// A caller whose access ends between authentication and the handshake is disconnected too.
	late := b.dial(t, "revoked")
	if _, _, err := late.conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("a socket that came late ended with %v", err)
	}
	for method, refused := range map[string]bool{"session/start": false, "workspace/add": true, "status/get": false} {
		b.role = auth.RoleOperator
		operator := b.dial(t, "operator")
		operator.send(`{"jsonrpc":"2.0","id":3,"method":"` + method + `"}`)
		if got := operator.read(); strings.Contains(got, "-32013") != refused {
			t.Errorf("%s by an operator: %s", method, got)
		}
		b.role = auth.RoleCI
		machine := b.dial(t, "ci")
		machine.send(`{"jsonrpc":"2.0","id":3,"method":"` + method + `"}`)
		if got := machine.read(); !strings.Contains(got, "-32013") {
			t.Errorf("%s by ci: %s", method, got)
		}
	}
	b.role = auth.RoleMember
	viewer := b.dial(t, "viewer")
	for method, role := range map[string]string{"session/start": "operator", "permission/respond": "operator",
		"workspace/add": "admin", "status/get": ""} {
		viewer.send(`{"jsonrpc":"2.0","id":3,"method":"` + method + `"}`)
		if got := viewer.read(); strings.Contains(got, "-32013") != (role != "") || role != "" &&
			!strings.Contains(got, `"required_role":"`+role+`"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// The server sends heartbeats. Excess messages get an error, not a disconnect. Shutdown closes the calling socket.
func TestHeartbeatsRateAndShutdown(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *rpc.Options) { o.Heartbeat, o.Rate = 5*time.Millisecond, 3 })
	s := b.dial(t, "eager")
	s.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"notifications":[]}}}`)
	for range 2 {
		s.send(`{"jsonrpc":"2.0","id":2,"method":"status/health"}`)
	}
	s.send(`{"jsonrpc":"2.0","id":3,"method":"status/health"}`)
	limited := false
	for range 200 { // heartbeats arrive until the server reads initialize, which opts out of them
		if text := s.read(); strings.Contains(text, "rate_limited") {
			limited = strings.Contains(text, `"id":3`) && strings.Contains(text, "retry_after_ms")
			break
		}
	}
	if !limited {
		t.Error("the fourth message of a minute with three was executed")
	}
	quiet := b.dial(t, "quiet")
	for {
		if text := quiet.read(); strings.Contains(text, "event/heartbeat") {
			if !strings.Contains(text, `"server_time"`) || !strings.Contains(text, `"sequence"`) {
				t.Error(text)
			}
			break
		}
	}
	quiet.send(`{"jsonrpc":"2.0","id":9,"method":"shutdown"}`)
	answered := false
	for {
		_, text, err := quiet.conn.Read(t.Context())
		if err != nil {
			if !answered || websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("answered %v, then %v", answered, err)
			}
			break
		}
		answered = answered || strings.Contains(string(text), `"id":9,"result":{"success":true}`)
	}
}

// laterReads delays answers until the test allows them, as a store does whose standby is away.
type laterReads struct{ allowed chan struct{} }

func (laterReads) Reading(ctx context.Context) context.Context { return ctx }

func (l laterReads) Settled(ctx context.Context) error {
	select {
	case <-l.allowed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A socket can run 64 messages concurrently. The next one gets an error, and the socket stays open.
func TestBusy(t *testing.T) {
	t.Parallel()
	reads := laterReads{make(chan struct{})}
	b := setup(t, func(o *rpc.Options) { o.Rate, o.Reads = 0, reads })
	s := b.dial(t, "eager")
	for n := range 65 {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/list"}`, n))
	}
	if text := s.read(); !strings.Contains(text, `"code":"busy"`) || !strings.Contains(text, `"retryable":true`) {
		t.Error(text)
	}
	close(reads.allowed)
	answers := map[string]bool{}
	for len(answers) < 64 {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal([]byte(s.read()), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID != nil {
			answers[string(m.ID)] = true
		}
	}
}

// objects sends a third-party client's messages over a websocket.
type objects struct{ conn *websocket.Conn }

func (o objects) WriteObject(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = o.conn.Write(context.Background(), websocket.MessageText, text)
	}
	return err
}

func (o objects) ReadObject(v any) error {
	_, text, err := o.conn.Read(context.Background())
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	return err
}

func (o objects) Close() error { return o.conn.CloseNow() }

// A third-party JSON-RPC client runs a turn, gets its errors with their data, and receives the notifications.
func TestThirdPartyClientRunsATurn(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	received := &notes{news: make(chan struct{}, 1)}
	client := jsonrpc2.NewConn(t.Context(), objects{b.dial(t, "independent").conn}, received)
	t.Cleanup(func() { _ = client.Close() })
	var hello struct {
		Capabilities struct {
			RuntimeRegistry struct {
				DefaultRuntime string
				Runtimes       []struct {
					ID      string
					Methods map[string]string
				}
			}
		}
	}
	if err := client.Call(t.Context(), "initialize", map[string]any{"protocolVersion": "1.0"}, &hello); err != nil {
		t.Fatal(err)
	}
	if err := client.Notify(t.Context(), "initialized", nil); err != nil {
		t.Fatal(err)
	}
	known := hello.Capabilities.RuntimeRegistry.Runtimes[0]
	session := b.NewSession()
	params := func(more map[string]any) map[string]any {
		all := map[string]any{"session_id": session, "workspace_id": "session:" + session, "agent_type": known.ID}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	var result map[string]any
	for _, step := range []struct {
		use  string
		more map[string]any
	}{{"watch", nil}, {"send", map[string]any{"prompt": "REPLY[hello there]"}}, {"state", nil}} {
		if err := client.Call(t.Context(), known.Methods[step.use], params(step.more), &result); err != nil {
			t.Fatalf("%s: %v", step.use, err)
		}
	}
	received.await(t, "event/claude_message")
	received.await(t, "event/stream_read_complete")
	if err := client.Call(t.Context(), known.Methods["messages"], params(nil), &result); err != nil ||
		!strings.Contains(fmt.Sprint(result), "hello there") {
		t.Errorf("%v: %v", err, result)
	}
	var refused *jsonrpc2.Error
	err := client.Call(t.Context(), known.Methods["send"], map[string]any{"prompt": "x", "agent_type": "unknown"}, nil)
	if !errors.As(err, &refused) || refused.Code != -32602 ||
		!strings.Contains(string(*refused.Data), `"supported_agent_types":["scripted"]`) {
		t.Errorf("%v", err)
	}
}

// POST responds to one message or batch, sends nothing for notifications, and refuses methods that need a socket.
func TestPost(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, one := range []struct {
		said, kind string
		status     int
		want       string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"status/health"}`, "application/json", 200, `"id":1,"result":{"status":"ok"`},
		{`[{"jsonrpc":"2.0","id":1,"method":"status/health"},{"jsonrpc":"2.0","id":2,"method":"none"}]`,
			"application/json; charset=utf-8", 200, `},{"jsonrpc":"2.0","id":2,"error"`},
		{`{"jsonrpc":"2.0","method":"initialized"}`, "application/json", 204, ``},
		{`{"jsonrpc":"2.0","id":1,"method":"workspace/session/watch","params":{"workspace_id":"w","session_id":"s"}}`,
			"application/json", 200, `-32600,"message":"Invalid request: workspace/session/watch needs a websocket"`},
		{`{"jsonrpc":"2.0","id":1,"method":"events/resume","params":{"after":0}}`, "application/json", 200,
			`needs a websocket`},
		{`{"jsonrpc":"2.0","id":1,"method":"status/health"}`, "text/plain", 415, `-32600`},
		{`{"pad":"` + strings.Repeat("x", 1<<20) + `"}`, "application/json", 413, `-32600`},
	} {
		response, err := http.Post(b.url, one.kind, strings.NewReader(one.said))
		if err != nil {
			t.Fatal(err)
		}
		body := readAll(t, response)
		if response.StatusCode != one.status || !strings.Contains(body, one.want) || one.want == "" && body != "" {
			t.Errorf("%.80s got %d %s", one.said, response.StatusCode, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// An unwatched session sends no notifications: an event stored before a call would arrive before its response.
func TestUnwatchedSessionSendsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	s, session := b.dial(t, "alice"), b.NewSession()
	ask := func(method, params string) (answer string) {
		s.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
		return s.read()
	}
	ask("initialize", `{"capabilities":{"notifications":["event/harness"]}}`)
	ask("session/watch", `{"session_id":"`+session+`"}`)
	b.upsert(session, 1)
	if frame := s.read(); !strings.Contains(frame, "entry-1") {
		t.Errorf("watching, it receives %s", frame)
	}
	if answer := ask("session/unwatch", `{"session_id":"`+session+`"}`); !strings.Contains(answer, `"watching":false,`) ||
		!strings.Contains(answer, session) {
		t.Error(answer)
	}
	b.upsert(session, 2)
	if answer := ask("status/health", `{}`); !strings.Contains(answer, `"id":1,"result"`) {
		t.Errorf("not watching, it receives %s", answer)
	}
}
