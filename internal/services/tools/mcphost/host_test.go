package mcphost_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/internal/services/tools"
	"harness/internal/services/tools/ledger"
	"harness/internal/services/tools/mcphost"
	"harness/internal/services/tools/workspace"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

func TestMain(m *testing.M) { scripted.Main(m) }

// site is an MCP endpoint over real sessions and a real store.
type site struct {
	*sessiontest.Site
	t       *testing.T
	server  *httptest.Server
	grants  *mcphost.Grants
	ledger  *ledger.Ledger
	session string
	folder  string
	policy  tools.Policy
	most    int
	// unsettled is the reason why read rows may not be shown, nil if they may.
	unsettled error
}

// Settled implements mcphost.Reads.
func (s *site) Settled(ctx context.Context) error { return cmp.Or(s.unsettled, s.Journal.Settled(ctx)) }

// Reading implements mcphost.Reads.
func (s *site) Reading(ctx context.Context) context.Context { return s.Journal.Reading(ctx) }

// person asks with the approvals of sessions.
type person struct{ *manager.Service }

func (p person) Ask(ctx context.Context, call tools.Call, class tools.Class, _ string) (tools.Answer, error) {
	answer, err := p.AskAboutTool(ctx, session.ToolQuestion{SessionID: call.SessionID, TurnID: call.TurnID,
		CallID: call.ID, Tool: call.Tool, Arguments: call.Input, Reason: string(class)})
	return tools.Answer(answer), err
}

func newSite(t *testing.T, s *sessiontest.Site) *site {
	t.Helper()
	one := &site{Site: s, t: t, folder: t.TempDir(), session: s.NewSession(), policy: tools.Policy{Mode: tools.ModeAuto},
		ledger: ledger.New(s.Journal, "node", nil)}
	var err error
	if one.grants, err = mcphost.NewGrants(bytes.Repeat([]byte("k"), mcphost.SecretBytes), s.DB, s.Journal,
		nil); err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tools.RegistryOptions{}, workspace.Tools(workspace.Limits{})...)
	if err != nil {
		t.Fatal(err)
	}
	in := map[tools.Class]tools.Sandbox{tools.ReadOnly: tools.NewInProcess(), tools.Write: tools.NewInProcess()}
	executor := tools.NewExecutor(tools.Options{Registry: registry, Recorder: one.ledger, Approver: person{s.Service},
		Sandboxes: in})
	host := mcphost.New(mcphost.Options{Executor: executor, Reads: one, Grants: one.grants, Progress: 10 * time.Millisecond,
		Logger: zerolog.Nop(),
		Session: func(_ context.Context, id string) (mcphost.Session, error) {
			if id != one.session {
				return mcphost.Session{}, session.ErrNotFound
			}
			return mcphost.Session{Workspace: one.folder, Policy: one.policy, MaxCalls: one.most}, nil
		}})
	one.server = httptest.NewServer(host)
	t.Cleanup(one.server.Close)
	return one
}

type withBearer struct {
	token string
	next  http.RoundTripper
}

func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// client returns an agent with a bearer; progress receives each report that its call is pending.
func (s *site) client(token string, progress chan<- struct{}) *mcp.ClientSession {
	s.t.Helper()
	return s.clientOf("", token, progress)
}

// clientOf is client with a version of the protocol, "" for the newest.
func (s *site) clientOf(version, token string, progress chan<- struct{}) *mcp.ClientSession {
	s.t.Helper()
	made := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			select {
			case progress <- struct{}{}:
			default:
			}
		}})
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	connected, err := made.Connect(s.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.server.URL,
			HTTPClient: &http.Client{Transport: withBearer{token, transport}}, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connected.Close() })
	return connected
}

func write(name string) *mcp.CallToolParams {
	params := &mcp.CallToolParams{Name: "workspace_write", Arguments: map[string]any{"path": name, "content": "owned"}}
	params.SetProgressToken("p")
	return params
}

func said(result *mcp.CallToolResult, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	return fmt.Sprint(result.IsError, " ", text.Text)
}

func (s *site) decide(asked session.Request, decision, message string) error {
	_, err := s.Settle(s.t.Context(), asked.ID, runtime.RequestApproval,
		runtime.Reply{Decision: decision, Message: message}, "ann")
	return err
}

func (s *site) there(name string) bool {
	_, err := os.Stat(filepath.Join(s.folder, name))
	return err == nil
}

// recorded returns the types of the journal's events of calls.
func (s *site) recorded() (types []string) {
	s.t.Helper()
	records, err := s.Journal.ReadSession(s.t.Context(), s.session, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, record := range records {
		if strings.HasPrefix(record.Type, "tool.") {
			types = append(types, strings.TrimPrefix(record.Type, "tool."))
		}
	}
	return types
}

var (
	askedAndDenied = []string{"call.requested", "call.policy_evaluated", "call.policy_evaluated", "call.denied"}
	askedAndRan    = []string{"call.requested", "call.policy_evaluated", "call.policy_evaluated", "call.approved",
		"call.started", "call.completed"}
)

// The reason why a session has no tools is sent only once the rows it was read from may be shown. The outcome of a run
// is sent at once: it was recorded after all its reads.
func TestRefusalsWaitForTheReplica(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
		s := newSite(t, base)
		unbound, _ := s.grants.Unnamed()
		s.unsettled = errors.New("the standby does not have it")
		for name, token := range map[string]string{"a session that is not there": s.grants.Token("none"),
			"a bearer that is no session's": unbound} {
			got := said(s.client(token, nil).CallTool(t.Context(), write("a")))
			if !strings.HasPrefix(got, "true ") || !strings.Contains(got, s.unsettled.Error()) {
				t.Errorf("%s: %s", name, got)
			}
		}
		list := &mcp.CallToolParams{Name: "workspace_list", Arguments: map[string]any{"path": "."}}
		if got := said(s.client(s.grants.Token(s.session), nil).CallTool(t.Context(), list)); !strings.HasPrefix(got, "false") {
			t.Errorf("a call gets %s", got)
		}
	})
}

// TL-10, TL-23, TL-29: exactly the listed tools can be called, with the same policy, approvals and events; a reason
// reaches the agent.
func TestToolsOverMCP(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
		s := newSite(t, base)
		for _, token := range []string{"", "x", s.grants.Token(s.session) + "x", "session.bm9uZQ.AAAA",
			"other" + s.grants.Token(s.session)} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL, strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+token)
			answer, err := http.DefaultClient.Do(request)
			if err != nil || answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("with the bearer %q: %v (%v)", token, answer, err)
			}
			if err == nil {
				answer.Body.Close()
			}
		}
		token, bind := s.grants.Unnamed()
		agent := s.client(token, nil)
		if got := said(agent.CallTool(t.Context(), write("early"))); !strings.HasPrefix(got,
			"true this session has no tools") {
			t.Errorf("before it is a session: %s", got)
		}
		if err := bind(t.Context(), s.session); err != nil {
			t.Fatal(err)
		}
		var names []string
		listed, err := agent.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range listed.Tools {
			names = append(names, one.Name)
			if one.Annotations.ReadOnlyHint != (one.Name == "workspace_read" || one.Name == "workspace_list") {
				t.Errorf("%s is said to be %+v", one.Name, one.Annotations)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"patch_apply", "workspace_list", "workspace_read", "workspace_write"}) {
			t.Errorf("listed are %v", names)
		}
		if err := os.WriteFile(filepath.Join(s.folder, "a.txt"), []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
		result, err := agent.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "workspace_read", Arguments: map[string]any{"path": "a.txt"}})
		structured, _ := json.Marshal(result.StructuredContent)
		var text, same any
		_ = json.Unmarshal([]byte(strings.TrimPrefix(said(result, err), "false ")), &text)
		_ = json.Unmarshal(structured, &same)
		if fmt.Sprint(text) != fmt.Sprint(same) || !strings.Contains(string(structured), `"content":"a"`) {
			t.Errorf("read: %s, %s", said(result, err), structured)
		}
		if got := said(agent.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "workspace_read",
				Arguments: map[string]any{"path": "../secret"}})); got != "true the path escapes the workspace" {
			t.Errorf("outside: %s", got)
		}
		if _, err := agent.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "workspace_exec", Arguments: map[string]any{}}); err == nil {
			t.Error("a tool that is not shown can be called")
		}

		before := len(s.recorded())
		progress := make(chan struct{})
		agent = s.client(s.grants.Token(s.session), progress)
		done := make(chan string, 1)
		go func() { done <- said(agent.CallTool(t.Context(), write("b.txt"))) }()
		asked := s.Asked(s.session)
		<-progress // the agent gets reports that its call is pending
		<-progress
		if s.there("b.txt") {
			t.Error("it ran before it was decided")
		}
		if err := s.decide(asked, "accept", ""); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != `false {"path":"b.txt","bytes_written":5,"created":true}` || !s.there("b.txt") {
			t.Errorf("approved: %s", got)
		}
		go func() { done <- said(agent.CallTool(t.Context(), write("c.txt"))) }()
		if err := s.decide(s.Asked(s.session), "decline", "not on a Friday"); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != "true denied by ann: not on a Friday" || s.there("c.txt") {
			t.Errorf("denied: %s", got)
		}
		if got, want := s.recorded()[before:], slices.Concat(askedAndRan, askedAndDenied); !slices.Equal(got, want) {
			t.Errorf("the journal has %v, want %v", got, want)
		}
		s.policy.NonInteractive = true
		if got := said(agent.CallTool(t.Context(), write("d.txt"))); got != "true approval required" || s.there("d.txt") {
			t.Errorf("without a person to ask: %s", got)
		}
	})
}

// A call does not run after a late approval if the agent canceled it or its connection broke.
func TestAGivenUpCallDoesNotRunLate(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
		s := newSite(t, base)
		for name, giveUp := range map[string]func(cancel func(), agent *mcp.ClientSession){
			"taken back": func(cancel func(), _ *mcp.ClientSession) { cancel() },
			"broken off": func(func(), *mcp.ClientSession) { s.server.CloseClientConnections() },
		} {
			before := len(s.recorded())
			agent := s.client(s.grants.Token(s.session), nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan string, 1)
			go func() { done <- said(agent.CallTool(ctx, write("late.txt"))) }()
			asked := s.Asked(s.session)
			giveUp(cancel, agent)
			s.Until("the approval expires, "+name, func(ctx context.Context) bool {
				pending, err := s.Pending(ctx, s.session)
				return err == nil && len(pending) == 0
			})
			var settled *session.SettledError
			if err := s.decide(asked, "accept", ""); !errors.As(err, &settled) ||
				settled.Request.Status != session.RequestExpired {
				t.Errorf("%s: approved late: %v", name, err)
			}
			s.Until("the end of the call, "+name, func(context.Context) bool {
				return slices.Contains(s.recorded()[before:], "call.denied")
			})
			if got := s.recorded()[before:]; slices.Contains(got, "call.started") || s.there("late.txt") {
				t.Errorf("%s: it ran: %v", name, got)
			}
			cancel()
			<-done
		}
	})
}

// TL-27: two concurrent calls each get their own result, whichever is decided first.
func TestTwoCallsAtOnce(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
		s := newSite(t, base)
		s.most = 2
		agent := s.client(s.grants.Token(s.session), nil)
		got := map[string]string{}
		var group sync.WaitGroup
		var mu sync.Mutex
		for _, name := range []string{"one", "two"} {
			group.Go(func() {
				answer := said(agent.CallTool(t.Context(), write(name)))
				mu.Lock()
				defer mu.Unlock()
				got[name] = answer
			})
		}
		var both []session.Request
		s.Until("both wait", func(ctx context.Context) bool {
			pending, err := s.Pending(ctx, s.session)
			both = pending
			return err == nil && len(pending) == 2
		})
		slices.Reverse(both)
		for _, one := range both {
			decision := "accept"
			if strings.Contains(string(one.Asked.Arguments), "one") {
				decision = "decline"
			}
			if err := s.decide(one, decision, "no"); err != nil {
				t.Fatal(err)
			}
		}
		group.Wait()
		if got["one"] != "true denied by ann: no" || !strings.HasPrefix(got["two"], `false {"path":"two"`) ||
			s.there("one") || !s.there("two") {
			t.Errorf("answered were %v", got)
		}
	})
}

// RA-03: an agent that may have one open call makes three at once. One approval is requested at a time, and the other
// calls get progress reports. No approval is requested for a call that is canceled while it waits, and the next one
// gets its slot.
func TestCallsWaitForTheirSlot(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
		s := newSite(t, base)
		s.most = 1
		var group sync.WaitGroup
		stay, end := context.WithCancel(t.Context())
		defer group.Wait()
		defer end()
		waits := map[string]chan struct{}{}
		leaving, leave := context.WithCancel(stay)
		for _, name := range []string{"one", "two", "gone"} {
			ctx, progressed := stay, make(chan struct{}, 1)
			if name == "gone" {
				ctx = leaving
			}
			waits[name] = progressed
			agent := s.client(s.grants.Token(s.session), progressed)
			group.Go(func() {
				if answer := said(agent.CallTool(ctx, write(name))); name != "gone" && !strings.HasPrefix(answer, "false ") {
					t.Errorf("%s is answered %s", name, answer)
				}
			})
			<-progressed // the call has arrived
			if name == "one" {
				s.Until("it is asked about", func(ctx context.Context) bool {
					pending, err := s.Pending(ctx, s.session)
					return err == nil && len(pending) == 1
				})
			}
		}
		<-waits["gone"] // and still waits
		leave()
		for _, name := range []string{"one", "two"} {
			var asked []session.Request
			s.Until(name+" is asked about", func(ctx context.Context) bool {
				var err error
				asked, err = s.Pending(ctx, s.session)
				return err == nil && len(asked) > 0
			})
			if len(asked) != 1 || !strings.Contains(string(asked[0].Asked.Arguments), `"`+name+`"`) {
				t.Fatalf("asked about are %+v, want %s alone", asked, name)
			}
			if err := s.decide(asked[0], "accept", ""); err != nil {
				t.Fatal(err)
			}
			s.Until(name+" is done", func(context.Context) bool { return s.there(name) })
		}
		group.Wait()
		if left, err := s.Pending(t.Context(), s.session); err != nil || len(left) > 0 || s.there("gone") {
			t.Errorf("left are %+v, %v", left, err)
		}
	})
}

// TL-28: calls that ran, or waited, when the server was killed are settled by the next server, which reports that their
// effects are unknown. The same call again is the next attempt and needs approval, whatever the rules allow.
func TestInterruptedCallNeedsNewDecision(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, base *sessiontest.Site) {
		s := newSite(t, base)
		s.policy.AllowTools = []string{"workspace.write"}
		agent := s.client(s.grants.Token(s.session), nil)
		input := json.RawMessage(`{"content":"owned","path":"cut.txt"}`)
		hash, err := tools.Hash(input)
		if err != nil {
			t.Fatal(err)
		}
		// A server that was killed during two calls.
		dead := ledger.New(s.Journal, "node", nil)
		for _, started := range []bool{true, false} {
			call, cutOff, err := dead.Open(t.Context(), tools.Call{SessionID: s.session, Tool: "workspace.write", Input: input,
				InputHash: hash}, tools.Requested{})
			if err != nil || cutOff || call.Attempt != 1 {
				t.Fatalf("attempt %d, %v, %v", call.Attempt, cutOff, err)
			}
			if started {
				if err := dead.Record(t.Context(), call, tools.Approved{}, tools.Started{}); err != nil {
					t.Fatal(err)
				}
			}
			hash += "-other"
		}
		before := len(s.recorded())
		if err := s.ledger.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.recorded()[before:]; !slices.Equal(got, []string{"call.completed", "call.denied"}) {
			t.Errorf("settled as %v", got)
		}
		for range 2 { // a denial does not turn the next attempt into a first one
			done := make(chan string, 1)
			go func() { done <- said(agent.CallTool(t.Context(), write("cut.txt"))) }()
			if err := s.decide(s.Asked(s.session), "decline", ""); err != nil {
				t.Fatal(err)
			}
			if got := <-done; got != "true denied by ann" || s.there("cut.txt") {
				t.Errorf("again: %s", got)
			}
		}
		records, err := s.Journal.ReadSession(t.Context(), s.session, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		last := records[slices.IndexFunc(records, func(r journal.Record) bool {
			return strings.Contains(string(r.Payload), "replay:requires_reapproval")
		})]
		if !strings.Contains(string(last.Payload), `"attempt":2`) ||
			!strings.Contains(string(last.Payload), strings.TrimSuffix(hash, "-other-other")) {
			t.Errorf("the journal says %s", last.Payload)
		}
		// Another call does not wait for it.
		if got := said(agent.CallTool(t.Context(), write("other.txt"))); !strings.HasPrefix(got, "false") {
			t.Errorf("another: %s", got)
		}
	})
}
