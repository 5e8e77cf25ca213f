package agents

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// toolWrite returns a call of a tool that writes a file in the workspace.
func toolWrite(name string) string {
	return programtest.OwnedTool("workspace_write", `{"path":"`+name+`","content":"owned"}`)
}

// called returns the results of a session's calls of the server's tools, in order.
func called(s *programtest.Site, session string) []string {
	s.T.Helper()
	ends, err := database.ReadTexts(s.T.Context(), dbtest.Connect(s.T, s.Store()).Read(), "read tool calls",
		`select tool || ' ' || status || ' ' || attempt from tool_calls where session_id = $1 order by created_at, id`,
		session)
	if err != nil {
		s.T.Fatal(err)
	}
	return ends
}

// silenceEnv is how many seconds pass before the decision on each runtime's first call (make tools).
const silenceEnv = "HARNESS_TOOLS_SILENCE"

// TL-10, TL-23, TL-24, TL-27, TL-29: every real agent gets the same tools, under the same policy. Reads run, writes
// need an ordinary approval, a reason reaches the model, and two sessions can ask at once. A call that the agent gave
// up does not run after a late approval.
func TestAgentsAreGivenTheToolsOfTheServer(t *testing.T) {
	t.Parallel()
	// Each engine runs half of the runtimes, because their shared code does not depend on the engine.
	halves := [][]string{{"codex", "gemini"}, {"claude", "opencode"}}
	if os.Getenv(silenceEnv) != "" {
		// The bridges start slowly, and the agents behind them are those above.
		halves[0], halves[1] = append(halves[0], "claude-acp"), append(halves[1], "codex-acp")
	}
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := withEveryRuntime(t, programtest.WithEngine(engine), programtest.WithEnv("HARNESS_TOOLS=workspace.read,workspace.write",
				`HARNESS_TOOLS_COMMANDS={"team.echo":{"command":["cat"],"class":"write","description":"echoes"}}`))
			s.Env = append(s.Env, "HARNESS_RUNTIMES="+strings.Join(halves[n], ","),
				"HARNESS_DEFAULT_RUNTIME="+halves[n][0])
			for name, content := range map[string]string{"note.txt": "the note", "long.txt": strings.Repeat("long ", 4000)} {
				if err := os.WriteFile(filepath.Join(s.Workspace, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			server := s.Start()
			server.WaitRuntime()
			for _, runtimeName := range halves[n] {
				t.Run(runtimeName, func(t *testing.T) {
					g := givenTools{t: t, s: s, server: server, runtime: runtimeName}
					g.session, g.events = g.opens(nil)
					g.mustRun()
					g.areAskedFor()
					g.askAtOnce()
					g.areGivenUp()
					g.areRefused()
				})
			}
			server.Stop()
			for _, request := range s.Model.Requests() { // no setting gives agents the control (MC-33)
				if slices.ContainsFunc(request.Tools, func(tool string) bool { return strings.Contains(tool, "start_session") }) {
					t.Fatalf("the model is offered %v", request.Tools)
				}
			}
		})
	}
}

// givenTools is a runtime that gets the server's tools.
type givenTools struct {
	t       *testing.T
	s       *programtest.Site
	server  *programtest.Server
	runtime string
	// session is the session of most calls.
	session string
	events  *programtest.Follower
}

// opens opens a session that only approvals restrict, or one with other levels.
func (g *givenTools) opens(levels programtest.Object) (session string, events *programtest.Follower) {
	body := programtest.Object{"runtime": g.runtime, "approvalPolicy": "on-request", "filesystemSandbox": "danger-full-access",
		"networkAccess": "enabled"}
	maps.Copy(body, levels)
	session = g.server.CreateSession(body)
	return session, g.server.Follow("threadId=" + session)
}

// there reports whether a file of this runtime exists.
func (g *givenTools) there(name string) bool {
	_, err := os.Stat(filepath.Join(g.s.Workspace, g.runtime+name))
	return err == nil
}

// finishes waits for the end of a turn, and for the last output to the model.
func (g *givenTools) finishes(events *programtest.Follower, turn string, said ...string) {
	g.t.Helper()
	if status := events.WaitTurn(turn); status != "completed" {
		g.t.Errorf("the turn ended %s", status)
	}
	for _, one := range said {
		if got := g.s.LastOutput(); !strings.Contains(got, one) {
			g.t.Errorf("the model got %q, want %q", got, one)
		}
	}
}

// asked waits for the approval of a turn.
func (g *givenTools) asked(events *programtest.Follower, turn string) programtest.Object {
	return events.Wait("the approval of turn "+turn, func(f programtest.Frame) bool {
		return f.Type == "approval" && programtest.Text(f.Decoded(), "turnId") == turn
	}).Decoded()
}

func (g *givenTools) decides(status int, shown programtest.Object, decision programtest.Object) {
	g.t.Helper()
	g.server.Want(status, http.MethodPost, "/api/approvals/"+programtest.Text(shown, "approvalId")+"/decision", decision)
}

// requireEnds compares the results of a session's calls with the expected ones.
func (g *givenTools) requireEnds(session, want string) {
	g.t.Helper()
	if ends := fmt.Sprint(called(g.s, session)); ends != want {
		g.t.Errorf("the calls ended %s, want %s", ends, want)
	}
}

// mustRun: a read runs and stays within the folder, and a long result becomes an artifact.
func (g *givenTools) mustRun() {
	g.finishes(g.events, g.server.Send(g.session, programtest.OwnedTool("workspace_read", `{"path":"note.txt"}`)), "the note")
	g.finishes(g.events, g.server.Send(g.session, programtest.OwnedTool("workspace_read", `{"path":"../secret"}`)),
		"the path escapes the workspace")
	g.finishes(g.events, g.server.Send(g.session, programtest.OwnedTool("workspace_read", `{"path":"long.txt"}`)), "long")
	kept, err := database.ReadTexts(g.t.Context(), dbtest.Connect(g.t, g.s.Store()).Read(), "read artifacts",
		`select id from artifacts where session_id = $1 and name not like 'implicit%'`, g.session)
	if err != nil || len(kept) != 1 {
		g.t.Fatalf("the artifacts are %v (%v)", kept, err)
	}
	if _, whole, err := g.server.Try(http.MethodGet, "/v1/artifacts/"+kept[0], nil); err != nil ||
		!strings.Contains(string(whole), strings.Repeat("long ", 4000)) {
		g.t.Errorf("the artifact is %.100s (%v)", whole, err)
	}
	g.writesAnArtifact(kept[0])
	for _, none := range []string{"..", "x", strings.Repeat("0", 36)} {
		if status, _, err := g.server.Try(http.MethodGet, "/v1/artifacts/"+none, nil); err != nil ||
			status == http.StatusOK {
			g.t.Errorf("artifact %q: %d, %v", none, status, err)
		}
	}
}

// writesAnArtifact: a file gets the bytes of the artifact named in its call, and the approval shows the name.
func (g *givenTools) writesAnArtifact(id string) {
	g.t.Helper()
	turn := g.server.Send(g.session, programtest.OwnedTool("workspace_write", `{"path":"`+g.runtime+`copied","artifact_id":"`+id+`"}`))
	shown := g.asked(g.events, turn)
	if text := fmt.Sprint(shown); !strings.Contains(text, id) || strings.Contains(text, "long long") {
		g.t.Errorf("the entry is %s", text)
	}
	g.decides(http.StatusOK, shown, programtest.Object{"decision": "accept"})
	g.finishes(g.events, turn, "bytes_written")
	copied, err := os.ReadFile(filepath.Join(g.s.Workspace, g.runtime+"copied"))
	if _, whole, failed := g.server.Try(http.MethodGet, "/v1/artifacts/"+id+"/download", nil); err != nil || failed != nil ||
		string(copied) != string(whole) {
		g.t.Errorf("written is %.100s, the artifact is %.100s (%v, %v)", copied, whole, err, failed)
	}
}

// areAskedFor: a write needs an ordinary approval, once, and a reason reaches the model.
func (g *givenTools) areAskedFor() {
	turn := g.server.Send(g.session, toolWrite(g.runtime+"yes"))
	shown := g.asked(g.events, turn)
	if programtest.Text(shown, "summary") != "Tool approval required: workspace.write" || g.there("yes") {
		g.t.Errorf("shown is %v", shown)
	}
	if seconds, err := strconv.Atoi(os.Getenv(silenceEnv)); err == nil {
		<-time.After(time.Duration(seconds) * time.Second)
	}
	g.decides(http.StatusOK, shown, programtest.Object{"decision": "accept"})
	g.finishes(g.events, turn, "bytes_written")
	if !g.there("yes") {
		g.t.Error("what was approved did not run")
	}
	turn = g.server.Send(g.session, programtest.OwnedTool("team_echo", `{"said":"by the operator's own"}`))
	g.decides(http.StatusOK, g.asked(g.events, turn), programtest.Object{"decision": "accept"})
	g.finishes(g.events, turn, "by the operator's own")
	turn = g.server.Send(g.session, toolWrite(g.runtime+"no"))
	g.decides(http.StatusOK, g.asked(g.events, turn), programtest.Object{"decision": "decline", "message": "not on a Friday"})
	g.finishes(g.events, turn, "denied by local: not on a Friday")
	if g.there("no") {
		g.t.Error("a call ran that was denied")
	}
}

// askAtOnce: calls of two sessions wait at the same time, each for its own session. Two calls of one answer both run.
func (g *givenTools) askAtOnce() {
	first, firstEvents := g.session, g.events
	second, secondEvents := g.opens(nil)
	firstTurn := g.server.Send(first, toolWrite(g.runtime+"first"))
	secondTurn := g.server.Send(second, toolWrite(g.runtime+"second"))
	firstShown, secondShown := g.asked(firstEvents, firstTurn), g.asked(secondEvents, secondTurn)
	g.decides(http.StatusOK, secondShown, programtest.Object{"decision": "decline", "message": "not the second"})
	g.decides(http.StatusOK, firstShown, programtest.Object{"decision": "accept"})
	g.finishes(firstEvents, firstTurn)
	g.finishes(secondEvents, secondTurn)
	if !g.there("first") || g.there("second") {
		g.t.Error("the decisions of two sessions were mixed up")
	}
	g.requireEnds(second, "[workspace.write denied 1]")
	g.finishes(firstEvents, g.server.Send(first, "MOCK_TOGETHER "+programtest.OwnedTool("workspace_read", `{"path":"note.txt"}`)+
		programtest.OwnedTool("workspace_read", `{"path":"long.txt","max_bytes":10}`)))
}

// areGivenUp: a call does not run after a late approval if its turn was interrupted.
func (g *givenTools) areGivenUp() {
	turn := g.server.Send(g.session, toolWrite(g.runtime+"late"))
	shown := g.asked(g.events, turn)
	g.server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+g.session+"/interrupt", nil)
	g.events.WaitTurn(turn)
	g.server.Eventually("the call that was given up is settled", func() bool {
		ends := called(g.s, g.session)
		return ends[len(ends)-1] == "workspace.write denied 1"
	})
	g.decides(http.StatusNotFound, shown, programtest.Object{"decision": "accept"})
	if g.there("late") {
		g.t.Error("a call ran that was given up")
	}
	const read, wrote, denied = "workspace.read completed 1 ", "workspace.write completed 1 ", "workspace.write denied 1"
	g.requireEnds(g.session, "["+read+read+read+wrote+wrote+"team.echo completed 1 "+denied+" "+wrote+read+read+denied+"]")
}

// areRefused: a session's levels apply, if the runtime has levels.
func (g *givenTools) areRefused() {
	levels, want := programtest.Object{"approvalPolicy": "never", "filesystemSandbox": "read-only", "networkAccess": "restricted"},
		"denied by policy: override:deny_permission"
	switch g.runtime {
	case "gemini":
		g.trustsNoSettings()
		fallthrough
	case "codex-acp":
		levels, want = programtest.Object{"approvalPolicy": "never"}, "approval required"
	case "claude-acp":
		return // it always has a person to ask
	}
	session, events := g.opens(levels)
	g.finishes(events, g.server.Send(session, toolWrite(g.runtime+"readonly")), want)
	if g.there("readonly") {
		g.t.Error("a session wrote that may not")
	}
	g.requireEnds(session, "[workspace.write denied 1]")
	// A tool that is not enabled does not exist, whatever the model requests.
	g.finishes(events, g.server.Send(session, programtest.OwnedTool("workspace_exec", `{"command":["touch","`+g.runtime+`forced"]}`)))
	if g.there("forced") {
		g.t.Error("a tool ran that is switched off")
	}
	g.requireEnds(session, "[workspace.write denied 1]")
}

// trustsNoSettings: Gemini CLI accepts MCP servers only in a workspace that it trusts. The server refuses a workspace
// with settings for Gemini.
func (g *givenTools) trustsNoSettings() {
	folder := filepath.Join(g.s.Workspace, "configured")
	if err := os.MkdirAll(filepath.Join(folder, ".gemini"), 0o700); err != nil {
		g.t.Fatal(err)
	}
	refused := g.server.Want(http.StatusConflict, http.MethodPost, "/api/sessions",
		programtest.Object{"runtime": g.runtime, "cwd": folder, "approvalPolicy": "on-request",
			"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
	if said := fmt.Sprint(refused); !strings.Contains(said, "HARNESS_TOOLS_RUNTIMES") {
		g.t.Errorf("it is refused with %s", said)
	}
}

// TL-28: a server is killed while a call waits for its decision. The next server reports this, the approval has
// ended, and nothing runs because of it.
func TestACallDoesNotOutliveItsServer(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("HARNESS_TOOLS=workspace.write"))
	free, err := net.Listen("tcp", "127.0.0.1:0") // its agent keeps running and calls the next server at the same address
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprintf("PORT=%d", free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	server := s.Start(port)
	session := server.CreateSession(programtest.Object{"approvalPolicy": "on-request"})
	turn := server.Send(session, toolWrite("killed"))
	shown := server.Follow("threadId=" + session + "&after=0").WaitType("approval").Decoded()
	server.Kill()

	server = s.Start(port)
	events := server.Follow("threadId=" + session + "&after=0")
	server.Want(http.StatusNotFound, http.MethodPost, "/api/approvals/"+programtest.Text(shown, "approvalId")+"/decision",
		programtest.Object{"decision": "accept"})
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	turn = server.Send(session, toolWrite("again"))
	shown = events.Wait("the next approval", func(f programtest.Frame) bool {
		return f.Type == "approval" && programtest.Text(f.Decoded(), "turnId") == turn
	}).Decoded()
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(shown, "approvalId")+"/decision",
		programtest.Object{"decision": "accept"})
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn after it ended %s", status)
	}
	callOverPipes(s, server, session)
	if ends := fmt.Sprint(
		called(s, session)); ends != "[workspace.write denied 1 workspace.write completed 1 workspace.write denied 1]" {
		t.Errorf("the calls ended %s", ends)
	}
	if _, err := os.Stat(filepath.Join(s.Workspace, "killed")); err == nil {
		t.Error("a call ran without approval")
	}
	server.Stop()
	requireAudited(s, session)
}

// callOverPipes makes a client without HTTP call a tool through "harness mcp". The call needs an approval in the
// session like any other call.
func callOverPipes(s *programtest.Site, server *programtest.Server, session string) {
	s.T.Helper()
	bridge := exec.Command(s.Program, "mcp", "--session", session, "--server", server.URL)
	bridge.Env, bridge.Dir = s.Env, s.Workspace
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(s.T.Context(),
		&mcp.CommandTransport{Command: bridge}, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	listed, err := agent.ListTools(s.T.Context(), nil)
	if err != nil || len(listed.Tools) != 1 || listed.Tools[0].Name != "workspace_write" {
		s.T.Fatalf("listed are %v (%v)", listed, err)
	}
	done := make(chan string, 1)
	go func() {
		result, err := agent.CallTool(s.T.Context(),
			&mcp.CallToolParams{Name: "workspace_write", Arguments: programtest.Object{"path": "piped", "content": "owned"}})
		if err != nil {
			done <- err.Error()
			return
		}
		text, _ := result.Content[0].(*mcp.TextContent)
		done <- text.Text
	}()
	var asked []any
	server.Eventually("the call is asked about", func() bool {
		asked = server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
		return len(asked) == 1
	})
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(asked[0], "approvalId")+"/decision",
		programtest.Object{"decision": "decline", "message": "not by pipe"})
	if got := <-done; got != "denied by local: not by pipe" {
		s.T.Errorf("over pipes it got %q", got)
	}
	if err := agent.Close(); err != nil {
		s.T.Error(err)
	}
}

// requireAudited fails unless the audit log of the site is complete, has the calls and decisions of a session, and
// reveals a change.
func requireAudited(s *programtest.Site, session string) {
	s.T.Helper()
	code, exported := s.Command("audit", "export", "--session", session)
	for _, kind := range []string{"tool.call.started", "tool.call.completed", "tool.call.denied", "approval_resolved"} {
		if code != 0 || !strings.Contains(exported, `"kind":"`+kind+`"`) {
			s.T.Errorf("%s is not audited: %d %s", kind, code, exported)
		}
	}
	if code, said := s.Command("audit", "verify"); code != 0 || !strings.Contains(said, "the audit log is whole") {
		s.T.Errorf("%d %s", code, said)
	}
	err := dbtest.Connect(s.T, s.Store()).Update(s.T.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(s.T.Context(), `update audit_log set actor = 'forged' where kind = 'approval_resolved'`)
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
	if code, said := s.Command("audit", "verify"); code != 1 || !strings.Contains(said, "(approval_resolved of session") {
		s.T.Errorf("changed: %d %s", code, said)
	}
}

// TL-14: if agents run as another user, so do the server's tools. Their files belong to that user, and they cannot
// read files that only the server may read.
func TestToolsAreTheUserOfTheAgents(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		s := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIME_USER=nobody", "HARNESS_TOOLS=workspace.read"))
		if code, said := s.Command("serve"); code == 0 || !strings.Contains(said, "only root") {
			t.Errorf("%d %s", code, said)
		}
		return
	}
	s := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIME_USER=nobody", "HARNESS_TOOLS=workspace.read,workspace.write",
		"HARNESS_TOOLS_RULES=write=allow"))
	s.Become(programtest.Unprivileged)
	s.Own(s.Workspace)
	if err := os.WriteFile(filepath.Join(s.Workspace, "of-root"), []byte("of root alone"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.User = 0
	if err := os.Chown(s.DataDir, 0, 0); err != nil {
		t.Fatal(err)
	}
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "on-request", "filesystemSandbox": "danger-full-access"})
	events := server.Follow("threadId=" + session)
	for message, said := range map[string]string{toolWrite("made"): "bytes_written",
		programtest.OwnedTool("workspace_read", `{"path":"of-root"}`): "permission denied"} {
		events.WaitTurn(server.Send(session, message))
		if got := s.LastOutput(); !strings.Contains(got, said) {
			t.Errorf("%s: the model got %q", message, got)
		}
	}
	info, err := os.Stat(filepath.Join(s.Workspace, "made"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != programtest.Unprivileged {
		t.Errorf("what a tool made is user %d's", owner)
	}
	server.Stop()
}
