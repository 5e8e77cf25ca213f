package appserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/api/appserver"
	"harness/api/door"
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

// bench is a door with real sessions of the scripted agent.
type bench struct {
	*sessiontest.Site
	server  *appserver.Server
	url     string
	refused chan string
	t       *testing.T
}

func setup(t *testing.T, change func(*appserver.Options)) *bench {
	t.Helper()
	b := &bench{Site: sessiontest.Open(t, dbtest.Open(t, database.SQLite)), refused: make(chan string, 100), t: t}
	options := appserver.Options{Journal: b.Journal, Version: "1", Refused: func(name string) { b.refused <- name },
		Operations: door.NewOperations(operations.New(operations.Options{Sessions: sessiontest.Parts(b.Service), Controls: b.Site,
			Runtimes: b.Site, Events: stream.Browser{Journal: b.Journal}}), nil, nil)}
	if change != nil {
		change(&options)
	}
	var err error
	if b.server, err = appserver.New(options); err != nil {
		t.Fatal(err)
	}
	hub := stream.NewHub(b.Journal, stream.Options{Logger: zerolog.Nop()})
	b.Start(hub)
	b.Start(b.server)
	sockets := stream.NewHandler(hub, stream.HandlerOptions{ReadLimit: appserver.MaxMessage}).For(b.server)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		role := auth.Role(r.Header.Get("Role"))
		sockets.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), auth.Principal{Actor: r.Header.Get("Actor"), Role: role})))
	}))
	t.Cleanup(served.Close)
	b.url = served.URL
	return b
}

// client is one connection.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	seen []frame           // read and not yet expected
	raw  []json.RawMessage // notifications and requests of the server
	next int
}

// frame is one message of the server.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (b *bench) dialAs(actor string, role auth.Role) *client {
	b.t.Helper()
	conn, _, err := websocket.Dial(b.t.Context(), "ws"+strings.TrimPrefix(b.url, "http"),
		&websocket.DialOptions{HTTPHeader: http.Header{"Actor": {actor}, "Role": {string(role)}}})
	if err != nil {
		b.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 26)
	b.t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{t: b.t, conn: conn}
}

// dial connects an operator and initializes.
func (b *bench) dial(actor string) *client {
	b.t.Helper()
	c := b.dialAs(actor, auth.RoleOperator)
	c.call("initialize", `{"clientInfo":{"name":"codex-tui","version":"0.171.0"},"capabilities":{"experimentalApi":true}}`)
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read() frame {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, text, err := c.conn.Read(ctx)
	if err != nil {
		c.t.Fatalf("%v; so far: %s", err, c.story())
	}
	var f frame
	if err := json.Unmarshal(text, &f); err != nil || strings.Contains(string(text), `"jsonrpc"`) {
		c.t.Fatalf("%s: %v", text, err)
	}
	if f.Method != "" {
		c.raw = append(c.raw, text)
	}
	return f
}

// story lists the methods that arrived, for messages.
func (c *client) story() string {
	var all []string
	for _, f := range c.seen {
		all = append(all, f.Method)
	}
	return strings.Join(all, " ")
}

// try sends a request and returns its answer. Other messages wait for next.
func (c *client) try(method, params string) frame {
	c.t.Helper()
	c.next++
	id := fmt.Sprintf(`"call-%d"`, c.next)
	c.send(`{"id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	for {
		f := c.read()
		if f.Method == "" && string(f.ID) == id {
			return f
		}
		c.seen = append(c.seen, f)
	}
}

// call is try of a request that succeeds.
func (c *client) call(method, params string) json.RawMessage {
	c.t.Helper()
	f := c.try(method, params)
	if f.Error != nil {
		c.t.Fatalf("%s %s: %s", method, params, f.Error.Message)
	}
	return f.Result
}

// until returns the next message with a method, whose params contain a text. It drops those before it.
func (c *client) until(method, text string) frame {
	c.t.Helper()
	for {
		if len(c.seen) == 0 {
			c.seen = append(c.seen, c.read())
		}
		f := c.seen[0]
		c.seen = c.seen[1:]
		if f.Method == method && strings.Contains(string(f.Params), text) {
			return f
		}
	}
}

// all returns the messages up to one with a method, with it.
func (c *client) all(method string) (all []frame) {
	c.t.Helper()
	for {
		if len(c.seen) == 0 {
			c.seen = append(c.seen, c.read())
		}
		all = append(all, c.seen[0])
		c.seen = c.seen[1:]
		if all[len(all)-1].Method == method {
			return all
		}
	}
}

// start opens a session and returns its id.
func (c *client) start() string {
	c.t.Helper()
	var made struct {
		Thread struct{ ID string }
	}
	decode(c.t, c.call("thread/start", `{"cwd":null,"model":null,"sandbox":"danger-full-access","approvalPolicy":"untrusted"}`), &made)
	return made.Thread.ID
}

// say starts a turn and returns its id.
func (c *client) say(session, text, clientID string) string {
	c.t.Helper()
	var said struct{ Turn struct{ ID string } }
	decode(c.t, c.call("turn/start", `{"threadId":"`+session+`","clientUserMessageId":"`+clientID+
		`","approvalPolicy":"untrusted","model":"`+scripted.Name+`","input":[{"type":"text","text":"`+text+`","text_elements":[]}]}`), &said)
	return said.Turn.ID
}

func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}
