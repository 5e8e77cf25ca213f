package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"harness/api/calls"
	"harness/api/door"
	"harness/api/idempotency"
	"harness/api/mcp"
	"harness/internal/content/search"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/audit"
	"harness/tests/dbtest"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

func TestMain(m *testing.M) {
	if scripted.Play() {
		return
	}
	goleak.VerifyTestMain(m)
}

type object = map[string]any

// bench is a server of the tools with real sessions of the scripted agent.
type bench struct {
	*sessiontest.Site
	server *mcp.Server
	url    string
	t      *testing.T

	mu   sync.Mutex
	rows []audit.Call
}

// Record implements calls.Sink.
func (b *bench) Record(call audit.Call, _ string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, call)
}

// recorded returns the rows of a tool in the audit log, without those before.
func (b *bench) recorded(tool string) (rows []audit.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.rows {
		if one.Route == tool {
			rows = append(rows, one)
		}
	}
	return rows
}

// records are the records of the site's journal.
type records struct {
	*journal.Journal
	db *database.DB
}

// Newest implements mcp.Journal.
func (r records) Newest(ctx context.Context, sessionID string) (int64, error) {
	return journal.Sequence(ctx, r.db.Read(), sessionID)
}

// noHits finds nothing.
type noHits struct{}

// Search implements operations.Searching.
func (noHits) Search(_ context.Context, q search.Query) (search.Page, error) {
	return search.Page{Hits: []search.Hit{{SessionID: "s", Title: "t", EntryID: "e", Snippet: q.Text}}}, nil
}

func setup(t *testing.T, changes ...func(*mcp.Options)) *bench {
	t.Helper()
	b := &bench{Site: sessiontest.Open(t, dbtest.Open(t, database.SQLite)), t: t}
	options := mcp.Options{Journal: records{b.Journal, b.DB}, Version: "1",
		Answers: idempotency.New(idempotency.Options{Journal: b.Journal, DB: b.DB, NodeID: "n"}),
		Operations: door.NewOperations(operations.New(operations.Options{Sessions: sessiontest.Parts(b.Service), Controls: b.Site,
			Runtimes: b.Site, Searching: noHits{}}), nil, nil)}
	for _, change := range changes {
		change(&options)
	}
	var err error
	if b.server, err = mcp.New(options); err != nil {
		t.Fatal(err)
	}
	route := func(r *http.Request) (calls.Route, bool) { return mcp.Route(r), true }
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal := auth.Principal{Actor: r.Header.Get("Actor"), Role: auth.Role(r.Header.Get("Role")), Session: r.Header.Get("Session")}
		if project := r.Header.Get("Project"); project != "" {
			principal.Projects = auth.LimitTo(project)
		}
		r = r.WithContext(auth.WithPrincipal(r.Context(), principal))
		calls.Middleware(b, route, calls.Admit(b.server)).ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	b.url = served.URL + mcp.Path
	return b
}

// client is one client of the tools.
type client struct {
	t       *testing.T
	session *sdk.ClientSession
}

type withHeader http.Header

// RoundTrip implements http.RoundTripper.
func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h {
		r.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (b *bench) dial(header http.Header, options *sdk.ClientOptions) *client {
	b.t.Helper()
	made := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := made.Connect(b.t.Context(), &sdk.StreamableClientTransport{Endpoint: b.url, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: withHeader(header)}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = session.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
	})
	return &client{b.t, session}
}

func (b *bench) as(actor string, role auth.Role) *client {
	b.t.Helper()
	return b.dial(http.Header{"Actor": {actor}, "Role": {string(role)}}, nil)
}

// names lists the tools of the client.
func (c *client) names() (names []string) {
	c.t.Helper()
	list, err := c.session.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	return names
}

// try calls a tool and returns its answer, and the code of its error.
func (c *client) try(tool string, in object) (answer object, code string) {
	c.t.Helper()
	got, err := c.session.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return nil, err.Error()
	}
	text, is := got.Content[0].(*sdk.TextContent)
	if !is {
		c.t.Fatalf("%s has no text", tool)
	}
	if json.Unmarshal([]byte(text.Text), &answer) != nil {
		return nil, text.Text // the protocol's own refusal of an input
	}
	structured, err := json.Marshal(got.StructuredContent)
	same, _ := json.Marshal(answer)
	if err != nil || string(structured) != string(same) {
		c.t.Errorf("%s: the text %s is not the structure %s", tool, same, structured)
	}
	if got.IsError {
		code, _ = answer["error"].(object)["code"].(string)
	}
	return answer, code
}

// call calls a tool that must succeed.
func (c *client) call(tool string, in object) object {
	c.t.Helper()
	answer, code := c.try(tool, in)
	if code != "" {
		c.t.Fatalf("%s %v: %s %v", tool, in, code, answer)
	}
	return answer
}

// list returns a list of objects in an answer.
func list(answer object, name string) (all []object) {
	items, _ := answer[name].([]any)
	for _, one := range items {
		member, _ := one.(object)
		all = append(all, member)
	}
	return all
}

func text(of any) string {
	s, _ := of.(string)
	return s
}
