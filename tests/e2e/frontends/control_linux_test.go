package frontends

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/internal/services/tools/mcphost"
	"harness/tests/programtest"
)

// control connects to `harness mcp --control`.
func control(t *testing.T, url, token string, env ...string) (*sdk.ClientSession, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programtest.Program(t), "mcp", "--control")
	cmd.Env = append(env, "HOME="+t.TempDir())
	if url != "" {
		cmd.Args = append(cmd.Args, "--url", url)
		cmd.Env = append(cmd.Env, "HARNESS_TOKEN="+token)
	}
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// MC-36: the MCP inspector lists the tools of each caller. MC-38: a codex session of a codex-manager client starts a child.
// MC-28: `harness mcp --control` is a pipe to the control with the caller's token. The setting closes it, and an agent's
// bearer does not open it.
func TestTheControlOverAPipe(t *testing.T) {
	t.Parallel()
	const owner = "the-owners-token-of-this-test"
	s := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+owner))
	server := s.Start()
	server.AwaitRuntime()
	server.Headers = map[string]string{"Authorization": "Bearer " + owner}
	id := server.CreateSession(programtest.Object{})
	session, err := control(t, server.URL, owner)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) < 12 {
		t.Fatalf("the tools are %v, %v", list, err)
	}
	got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_sessions"})
	if err != nil || !strings.Contains(got.Content[0].(*sdk.TextContent).Text, id) { //nolint:forcetypeassert // it is one
		t.Errorf("the sessions are %v, %v", got, err)
	}
	viewer := server.Want(http.StatusOK, http.MethodPost, "/api/tokens", programtest.Object{"name": "eve", "role": "viewer"})
	reads := []string{"list_approvals", "list_sessions", "read_transcript", "receipts", "search", "wait"}
	writes := []string{"archive", "interrupt", "rename", "send_message", "start_session"}
	inspects(t, server.URL, programtest.Text(viewer, "secret"), slices.Concat(reads, []string{"list_runtimes"})...)
	inspects(t, server.URL, owner, slices.Concat(reads, writes, []string{"decide", "list_runtimes"})...)
	if _, err := control(t, server.URL, "wrong-"+owner); err == nil {
		t.Error("a wrong token is accepted")
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	port, err := os.ReadFile(filepath.Join(s.DataDir, "agents.port"))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(filepath.Join(s.DataDir, "tools.key"))
	if err != nil {
		t.Fatal(err)
	}
	grants, err := mcphost.NewGrants(secret, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for url, status := range map[string]int{"http://127.0.0.1:" + strings.TrimSpace(string(port)): http.StatusForbidden,
		server.URL: http.StatusUnauthorized} {
		if got := post(t, url+"/mcp/control", grants.Token(id), hello); got != status {
			t.Errorf("the bearer of a session at %s is %d, not %d", url, got, status)
		}
	}
	server.Stop()
	// A program of the agent has the bearer in its environment: it starts a session, and decides nothing anywhere.
	server = s.Start("HARNESS_CONTROL_AGENTS=write")
	server.AwaitRuntime()
	agents := "http://127.0.0.1:" + strings.TrimSpace(string(port))
	agent, err := control(t, "", "", "HARNESS_URL="+agents, "HARNESS_SESSION_TOKEN="+grants.Token(id))
	if err != nil {
		t.Fatal(err)
	}
	inspects(t, agents, grants.Token(id), slices.Concat(reads, writes)...)
	made, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "start_session", Arguments: map[string]any{"key": "k"}})
	if err != nil || made.IsError {
		t.Errorf("the agent starts %+v, %v", made, err)
	}
	if got, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "decide"}); err == nil && !got.IsError {
		t.Error("an agent decides")
	}
	for path, status := range map[string]int{"/api/approvals/x/decision": http.StatusForbidden, "/acp": http.StatusForbidden,
		"/rpc": http.StatusForbidden, "/agui/new": http.StatusForbidden, "/mcp/other": http.StatusNotFound} {
		if got := post(t, agents+path, grants.Token(id), `{"decision":"accept"}`); got != status {
			t.Errorf("%s with the bearer of a session is %d, not %d", path, got, status)
		}
	}
	_, answer, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(agents, "http"),
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + grants.Token(id)}}})
	if err == nil || answer == nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("the door of codex for the bearer of a session: %v, %v", answer, err)
	}
	server.Stop()
	server = s.Start("HARNESS_DOORS=acp")
	if got := post(t, server.URL+"/mcp/control", owner, hello); got != http.StatusNotFound {
		t.Errorf("a closed door is %d", got)
	}
	server.Stop()
}

func post(t *testing.T, url, token, body string) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
