package v1_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/internal/services/tasks"
	"harness/internal/services/tools"
	"harness/internal/services/tools/ledger"
	"harness/internal/services/tools/mcphost"
	"harness/internal/services/tools/workspace"
)

// person asks through the approvals of sessions.
type person struct {
	*manager.Service
	// before runs before a question is asked.
	before func(call tools.Call)
}

// Ask implements tools.Approver.
func (p person) Ask(ctx context.Context, call tools.Call, class tools.Class, _ string) (tools.Answer, error) {
	p.before(call)
	answer, err := p.AskAboutTool(ctx, session.ToolQuestion{SessionID: call.SessionID, TurnID: call.TurnID,
		CallID: call.ID, Tool: call.Tool, Arguments: call.Input, Reason: string(class)})
	return tools.Answer(answer), err
}

// slowly delays the request for the call that writes the file at-once until the decision arrives.
func (s *site) slowly(call tools.Call) {
	if strings.Contains(string(call.Input), "at-once") {
		<-s.deciding
	}
}

type withBearer struct{ token string }

// RoundTrip implements http.RoundTripper.
func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// agent returns an MCP client with the server's tools, for its session in mode ask. The tools work in folder.
func (s *site) agent(base, folder string) *mcp.ClientSession {
	s.t.Helper()
	grants, err := mcphost.NewGrants(bytes.Repeat([]byte("k"), mcphost.SecretBytes), s.DB, s.Journal, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tools.RegistryOptions{}, workspace.Tools(workspace.Limits{})...)
	if err != nil {
		s.t.Fatal(err)
	}
	executor := tools.NewExecutor(tools.Options{Registry: registry, Recorder: ledger.New(s.Journal, "node", nil),
		Approver: person{s.Service, s.slowly}, Sandboxes: map[tools.Class]tools.Sandbox{tools.Write: tools.NewInProcess()}})
	server := httptest.NewServer(mcphost.New(mcphost.Options{Executor: executor, Reads: s.Journal, Grants: grants, Logger: zerolog.Nop(),
		Session: func(ctx context.Context, id string) (mcphost.Session, error) {
			return mcphost.Session{Workspace: folder, TurnID: s.CallingTurn(ctx, id), Policy: tools.Policy{Mode: tools.ModeAsk}}, nil
		}}))
	s.t.Cleanup(server.Close)
	connected, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: withBearer{grants.Token(idOf(base))}}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connected.Close() })
	return connected
}

// SE-06, SE-07, SE-08, EV-09, EV-11: decisions about tools of this server work like those about the runtime's tools.
// A call that the agent gave up, or whose task was stopped, does not run after a late approval.
func TestToolsOfTheServerAreDecided(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		folder := t.TempDir()
		base := s.ask()
		stream := s.follow(base, "", "")
		agent := s.agent(base, folder)
		s.task(base, "task", "HOLD[a]")
		if err := s.Agent.AwaitHeld(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		there := func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return err == nil
		}
		// write makes the agent call a tool, and returns the call once it waits for a decision.
		write := func(ctx context.Context, name string) (call object, answer <-chan string) {
			said := make(chan string, 1)
			go func() {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				result, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: "workspace_write",
					Arguments: map[string]any{"path": name, "content": "owned"}})
				if err != nil {
					said <- "error: " + err.Error()
					return
				}
				content, _ := result.Content[0].(*mcp.TextContent)
				said <- fmt.Sprint(result.IsError, " ", content.Text)
			}()
			call = stream.event(tasks.CallRequested, "task")
			if name != "at-once" {
				s.Asked(idOf(base))
			}
			return call, said
		}
		call, answer := write(t.Context(), "yes")
		if text(call, "name") != "workspace.write" || text(call, "input", "path") != "yes" {
			t.Errorf("asked is %v", call)
		}
		s.decided(http.StatusConflict, "input_hash_mismatch", base, "approve", call, object{"input_hash": "sha256:0"})
		s.decided(http.StatusConflict, "attempt_mismatch", base, "approve", call, object{"attempt": 7})
		if there("yes") {
			t.Error("it ran before it was approved")
		}
		s.decided(http.StatusOK, "", base, "approve", call, nil)
		if got := <-answer; !strings.HasPrefix(got, "false ") || !there("yes") {
			t.Errorf("approved: %s", got)
		}
		s.decided(http.StatusNotFound, "tool_call_not_pending", base, "deny", call, nil)

		for len(s.deciding) > 0 {
			<-s.deciding
		}
		call, answer = write(t.Context(), "at-once")
		s.decided(http.StatusOK, "", base, "approve", call, nil)
		if got := <-answer; !strings.HasPrefix(got, "false ") || !there("at-once") {
			t.Errorf("approved at once: %s", got)
		}

		call, answer = write(t.Context(), "no")
		s.decided(http.StatusOK, "", base, "deny", call, object{"reason": "not on a Friday"})
		if got := <-answer; got != "true denied by me: not on a Friday" {
			t.Errorf("denied: %s", got)
		}

		ctx, giveUp := context.WithCancel(t.Context())
		call, answer = write(ctx, "late")
		giveUp()
		<-answer
		s.awaitNothingPending(base)
		s.decided(http.StatusNotFound, "tool_call_not_pending", base, "approve", call, nil)
		stream.event(tasks.CallDenied, "task")

		call, answer = write(t.Context(), "stopped")
		s.want(http.StatusOK, http.MethodPost, base+"/tasks/task/stop", nil)
		if got := <-answer; !strings.HasPrefix(got, "true ") && !strings.HasPrefix(got, "error: ") {
			t.Errorf("stopped: %s", got)
		}
		if status := s.over(base, "task"); status != "stopped" {
			t.Errorf("the task is %s", status)
		}
		s.decided(http.StatusNotFound, "tool_call_not_pending", base, "approve", call, nil)
		for _, name := range []string{"no", "late", "stopped"} {
			if there(name) {
				t.Errorf("%s was written", name)
			}
		}
		const asks, not = "tool.call.requested tool.call.policy_evaluated ", "tool.call.denied "
		const done = "tool.call.approved tool.call.started tool.call.completed "
		want := "task.started model.input " + asks + done + asks + done + asks + not + asks + not + asks + not + "task.stopped"
		// The agent's concurrent output may appear anywhere in between.
		said := strings.NewReplacer("model.output.delta ", "", "model.output.completed tool.call.policy_evaluated ", "",
			"model.output.completed ", "")
		if got := said.Replace(kinds(s.page(base), "task")); got != want {
			t.Errorf("published are\n%s, want\n%s", got, want)
		}
	})
}
