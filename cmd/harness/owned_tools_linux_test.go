package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/database"
	"harness/internal/dbtest"
)

// ownedTool is a message that has a tool of the server called.
func ownedTool(tool, input string) string { return "MOCK_CALL[harness/" + tool + "|" + input + "]END" }

// toolWrite is one that writes a file of the workspace.
func toolWrite(name string) string {
	return ownedTool("workspace_write", `{"path":"`+name+`","content":"owned"}`)
}

// called are the ends of a session's calls of the server's tools, in order.
func (s *site) called(session string) []string {
	s.t.Helper()
	ends, err := database.ReadTexts(s.t.Context(), dbtest.Connect(s.t, s.store()).Read(), "read tool calls",
		`select tool || ' ' || status || ' ' || attempt from tool_calls where session_id = $1 order by created_at, id`,
		session)
	if err != nil {
		s.t.Fatal(err)
	}
	return ends
}

// TL-10, TL-23, TL-24, TL-29: the real codex and the real Claude Code are given the same tools, under the same policy:
// what reads runs, what writes is an ordinary approval, a reason reaches the model, and a call that was given up does
// not run when it is approved late.
func TestAgentsAreGivenTheToolsOfTheServer(t *testing.T) {
	t.Parallel()
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := withClaude(t, withEngine(engine), withEnv("HARNESS_TOOLS=workspace.read,workspace.write"))
			if err := os.WriteFile(filepath.Join(s.workspace, "note.txt"), []byte("the note"), 0o600); err != nil {
				t.Fatal(err)
			}
			server := s.start()
			// One runtime on each engine: what they share does not depend on both.
			runtimeName := []string{"codex", "claude"}[n]
			t.Run(runtimeName, func(t *testing.T) {
				session := server.createSession(object{"runtime": runtimeName, "approvalPolicy": "on-request",
					"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
				events := server.follow("threadId=" + session)
				there := func(name string) bool {
					_, err := os.Stat(filepath.Join(s.workspace, runtimeName+name))
					return err == nil
				}
				finish := func(turn, said string) {
					t.Helper()
					if status := events.waitTurn(turn); status != "completed" {
						t.Errorf("the turn ended %s", status)
					}
					if told := s.told(); !strings.Contains(told, said) {
						t.Errorf("the model was told %q, want %q", told, said)
					}
				}
				finish(server.send(session, ownedTool("workspace_read", `{"path":"note.txt"}`)), "the note")
				finish(server.send(session, ownedTool("workspace_read", `{"path":"../secret"}`)), "the path escapes the workspace")
				// A long result is an artifact.
				if err := os.WriteFile(filepath.Join(s.workspace, "long.txt"), []byte(strings.Repeat("long ", 4000)),
					0o600); err != nil {
					t.Fatal(err)
				}
				finish(server.send(session, ownedTool("workspace_read", `{"path":"long.txt"}`)), "long")
				kept, err := database.ReadTexts(t.Context(), dbtest.Connect(t, s.store()).Read(), "read artifacts",
					`select id from artifacts where session_id = $1`, session)
				if err != nil || len(kept) != 1 {
					t.Fatalf("the artifacts are %v (%v)", kept, err)
				}
				if _, whole, err := server.try(http.MethodGet, "/v1/artifacts/"+kept[0], nil); err != nil ||
					!strings.Contains(string(whole), strings.Repeat("long ", 4000)) {
					t.Errorf("the artifact is %.100s (%v)", whole, err)
				}
				for _, none := range []string{"..", "x", strings.Repeat("0", 36)} {
					if status, _, err := server.try(http.MethodGet, "/v1/artifacts/"+none, nil); err != nil ||
						status == http.StatusOK {
						t.Errorf("artifact %q: %d, %v", none, status, err)
					}
				}

				turn := server.send(session, toolWrite(runtimeName+"yes"))
				shown := events.waitType("approval").payload()
				if text(shown, "summary") != "Tool approval required: workspace.write" || text(shown, "turnId") != turn ||
					there("yes") {
					t.Errorf("shown is %v", shown)
				}
				server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(shown, "approvalId")+"/decision",
					object{"decision": "accept"})
				finish(turn, "bytes_written")
				if !there("yes") {
					t.Error("what was approved did not run")
				}

				turn = server.send(session, toolWrite(runtimeName+"no"))
				shown = events.waitType("approval").payload()
				server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(shown, "approvalId")+"/decision",
					object{"decision": "decline", "message": "not on a Friday"})
				finish(turn, "denied by local: not on a Friday")

				turn = server.send(session, toolWrite(runtimeName+"late"))
				shown = events.waitType("approval").payload()
				server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
				events.waitTurn(turn)
				server.eventually("the call that was given up is settled", func() bool {
					ends := s.called(session)
					return strings.HasSuffix(ends[len(ends)-1], "denied 1")
				})
				server.want(http.StatusNotFound, http.MethodPost, "/api/approvals/"+text(shown, "approvalId")+"/decision",
					object{"decision": "accept"})
				if there("late") || there("no") {
					t.Error("a call ran that was not approved")
				}
				want := "[workspace.read completed 1 workspace.read completed 1 workspace.read completed 1 workspace.write " +
					"completed 1 workspace.write denied 1 workspace.write denied 1]"
				if ends := fmt.Sprint(s.called(session)); ends != want {
					t.Errorf("the calls ended %s, want %s", ends, want)
				}
				reads := server.createSession(object{"runtime": runtimeName, "approvalPolicy": "never",
					"filesystemSandbox": "read-only"})
				events = server.follow("threadId=" + reads)
				finish(server.send(reads, toolWrite(runtimeName+"readonly")), "denied by policy: override:deny_permission")
				if there("readonly") {
					t.Error("a read-only session wrote")
				}
			})
			server.stop()
		})
	}
}

// TL-28: a server is killed while a call waits to be decided: the next one says so, the approval is over, and nothing
// runs by it.
func TestACallDoesNotOutliveItsServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("HARNESS_TOOLS=workspace.write"))
	free, err := net.Listen("tcp", "127.0.0.1:0") // its agent goes on, and calls the next server where it called this one
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprintf("PORT=%d", free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	server := s.start(port)
	session := server.createSession(object{"approvalPolicy": "on-request"})
	turn := server.send(session, toolWrite("killed"))
	shown := server.follow("threadId=" + session + "&after=0").waitType("approval").payload()
	server.kill()

	server = s.start(port)
	events := server.follow("threadId=" + session + "&after=0")
	server.want(http.StatusNotFound, http.MethodPost, "/api/approvals/"+text(shown, "approvalId")+"/decision",
		object{"decision": "accept"})
	if status := events.waitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	turn = server.send(session, toolWrite("again"))
	shown = events.wait("the next approval", func(f frame) bool {
		return f.Type == "approval" && text(f.payload(), "turnId") == turn
	}).payload()
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(shown, "approvalId")+"/decision",
		object{"decision": "accept"})
	if status := events.waitTurn(turn); status != "completed" {
		t.Errorf("the turn after it ended %s", status)
	}
	s.callOverPipes(server, session)
	if ends := fmt.Sprint(
		s.called(session)); ends != "[workspace.write denied 1 workspace.write completed 1 workspace.write denied 1]" {
		t.Errorf("the calls ended %s", ends)
	}
	if _, err := os.Stat(filepath.Join(s.workspace, "killed")); err == nil {
		t.Error("a call ran that nobody approved")
	}
	server.stop()
	s.requireAudited(session)
}

// callOverPipes has a client without HTTP call a tool by "harness mcp", which is asked about in the session as any
// other call.
func (s *site) callOverPipes(server *instance, session string) {
	s.t.Helper()
	bridge := exec.Command(s.program, "mcp", "--session", session, "--server", server.url)
	bridge.Env, bridge.Dir = s.env, s.workspace
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.CommandTransport{Command: bridge}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	listed, err := agent.ListTools(s.t.Context(), nil)
	if err != nil || len(listed.Tools) != 1 || listed.Tools[0].Name != "workspace_write" {
		s.t.Fatalf("listed are %v (%v)", listed, err)
	}
	done := make(chan string, 1)
	go func() {
		result, err := agent.CallTool(s.t.Context(),
			&mcp.CallToolParams{Name: "workspace_write", Arguments: object{"path": "piped", "content": "owned"}})
		if err != nil {
			done <- err.Error()
			return
		}
		text, _ := result.Content[0].(*mcp.TextContent)
		done <- text.Text
	}()
	var asked []any
	server.eventually("the call is asked about", func() bool {
		asked = server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
		return len(asked) == 1
	})
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(asked[0], "approvalId")+"/decision",
		object{"decision": "decline", "message": "not by pipe"})
	if told := <-done; told != "denied by local: not by pipe" {
		s.t.Errorf("over pipes it was told %q", told)
	}
	if err := agent.Close(); err != nil {
		s.t.Error(err)
	}
}

// requireAudited fails unless the audit log of the site is whole, has the calls and decisions of a session, and tells
// when it was changed.
func (s *site) requireAudited(session string) {
	s.t.Helper()
	code, exported := s.command("audit", "export", "--session", session)
	for _, kind := range []string{"tool.call.started", "tool.call.completed", "tool.call.denied", "approval_resolved"} {
		if code != 0 || !strings.Contains(exported, `"kind":"`+kind+`"`) {
			s.t.Errorf("%s is not audited: %d %s", kind, code, exported)
		}
	}
	if code, said := s.command("audit", "verify"); code != 0 || !strings.Contains(said, "the audit log is whole") {
		s.t.Errorf("%d %s", code, said)
	}
	err := dbtest.Connect(s.t, s.store()).Update(s.t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(s.t.Context(), `update audit_log set actor = 'nobody' where kind = 'approval_resolved'`)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if code, said := s.command("audit", "verify"); code != 1 || !strings.Contains(said, "(approval_resolved of session") {
		s.t.Errorf("changed: %d %s", code, said)
	}
}
