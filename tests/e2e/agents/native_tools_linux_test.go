package agents

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// offered returns the tools offered to the model since its log was reset, without those of this server.
func offered(s *programtest.Site) (native, owned []string) {
	for _, request := range s.Model.Requests() {
		for _, tool := range request.Tools {
			if strings.Contains(tool, "harness_") {
				owned = append(owned, tool)
			} else {
				native = append(native, tool)
			}
		}
	}
	slices.Sort(native)
	return slices.Compact(native), owned
}

// idle returns codex's tools that remain: one without an environment to work in, and those that list MCP servers.
func idle() []string {
	return []string{"apply_patch", "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "tool_search"}
}

// RA-19, TL-24, TL-26: an agent with disabled built-in tools gets only the server's tools, also from the next server.
// A model that still calls a built-in tool gets an error. By default a session has them, unless the server disables
// them for all sessions. Then an earlier session loses them too, and a runtime without such a setting opens no
// session.
func TestOwnToolsOfAgentsAreTakenAway(t *testing.T) {
	t.Parallel()
	engines := dbtest.Engines()
	for n, runtimeName := range []string{"claude", "opencode", "codex"} {
		t.Run(runtimeName, func(t *testing.T) {
			t.Parallel()
			s := withEveryRuntime(t, programtest.WithEngine(engines[n%len(engines)]),
				programtest.WithEnv("HARNESS_TOOLS=workspace.read,workspace.write"))
			s.Env = append(s.Env, "HARNESS_RUNTIMES="+runtimeName+",gemini", "HARNESS_DEFAULT_RUNTIME="+runtimeName)
			if err := os.WriteFile(filepath.Join(s.Workspace, "note.txt"), []byte("the note"), 0o600); err != nil {
				t.Fatal(err)
			}
			server := s.Start()
			server.WaitRuntime()
			g := givenTools{t: t, s: s, server: server, runtime: runtimeName}
			g.refuses("gemini", "off")
			plain, events := g.opens(nil)
			g.finishes(events, server.Send(plain, programtest.OwnedTool("workspace_read", `{"path":"note.txt"}`)), "the note")
			if native, owned := offered(s); len(native) <= len(idle()) {
				t.Errorf("who says nothing has %v and %v", native, owned)
			}
			bare, _ := g.opens(programtest.Object{"nativeTools": "off"})
			g.hasNoneOfItsOwn(bare, "first")
			server.Stop()
			server = s.Start()
			server.WaitRuntime()
			g.server = server
			g.hasNoneOfItsOwn(bare, "next")
			old := server.CreateSession(programtest.Object{"runtime": "gemini", "filesystemSandbox": "danger-full-access",
				"networkAccess": "enabled", "approvalPolicy": "on-request"})
			server.Stop()
			s.Env = append(s.Env, "HARNESS_NATIVE_TOOLS=off")
			server = s.Start()
			server.WaitRuntime()
			g.server = server
			fresh, _ := g.opens(nil)
			for i, session := range []string{plain, bare, fresh} {
				g.hasNoneOfItsOwn(session, "all"+strconv.Itoa(i))
			}
			g.refuses(runtimeName, "on")
			g.refuses("gemini", "")
			if answer := server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions/"+old+"/messages",
				programtest.Object{"text": "hello"}); !strings.Contains(programtest.Text(answer, "message"), "nativeTools") {
				t.Errorf("a session of before: %v", answer)
			}
			server.Stop()
		})
	}
}

// refuses checks that a runtime opens no session with disabled built-in tools.
func (g *givenTools) refuses(runtimeName, wish string) {
	g.t.Helper()
	body := programtest.Object{"runtime": runtimeName, "filesystemSandbox": "danger-full-access", "networkAccess": "enabled",
		"approvalPolicy": "on-request"}
	if wish != "" {
		body["nativeTools"] = wish
	}
	answer := g.server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions", body)
	if programtest.Text(answer, "code") != "unsupported_control" || !strings.Contains(programtest.Text(answer, "message"), "nativeTools") {
		g.t.Errorf("%s with nativeTools %q answers %v", runtimeName, wish, answer)
	}
}

// hasNoneOfItsOwn checks that the agent of a session gets only the server's tools and can use them. A command and a
// patch of the model, which would create a file with this name, have no effect.
func (g *givenTools) hasNoneOfItsOwn(session, name string) {
	g.t.Helper()
	events := g.server.Follow("threadId=" + session)
	g.s.Model.Forget()
	g.finishes(events, g.server.Send(session, "MOCK_CMD[touch "+name+"]"))
	g.finishes(events, g.server.Send(session, programtest.OwnedTool("workspace_read", `{"path":"note.txt"}`)), "the note")
	native, owned := offered(g.s)
	if g.runtime == "codex" {
		g.finishes(events, g.server.Send(session, "MOCK_PATCH["+name+"]"))
		native, owned = slices.DeleteFunc(native, func(tool string) bool { return slices.Contains(idle(), tool) }), idle()
	}
	if _, err := os.Stat(filepath.Join(g.s.Workspace, name)); err == nil {
		g.t.Errorf("%s: a tool of its own ran", name)
	}
	if len(native) > 0 || len(owned) == 0 {
		g.t.Errorf("%s: it has %v and %v", name, native, owned)
	}
	controls := g.server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if name == "first" && !strings.Contains(fmt.Sprint(controls), "nativeTools:off") {
		g.t.Errorf("it is not shown: %v", controls)
	}
}
