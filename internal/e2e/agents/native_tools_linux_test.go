package agents

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/dbtest"
	"harness/internal/programtest"
)

// offered are the tools the model was offered since it forgot, those of this server apart.
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

// RA-19, TL-26: an agent whose own tools are off is given those of the server alone, also by the next server: a model
// that calls another one even so gets nothing done. A runtime that cannot be told refuses, and who says nothing has them.
func TestOwnToolsOfAgentsAreTakenAway(t *testing.T) {
	t.Parallel()
	engines := dbtest.Engines()
	for n, runtimeName := range []string{"claude", "opencode"} {
		t.Run(runtimeName, func(t *testing.T) {
			t.Parallel()
			s := withEveryRuntime(t, programtest.WithEngine(engines[n%len(engines)]),
				programtest.WithEnv("HARNESS_TOOLS=workspace.read,workspace.write"))
			others := []string{"codex", "gemini"}[:2*(1-n)] // beside one of them
			s.Env = append(s.Env, "HARNESS_RUNTIMES="+strings.Join(append([]string{runtimeName}, others...), ","),
				"HARNESS_DEFAULT_RUNTIME="+runtimeName)
			if err := os.WriteFile(filepath.Join(s.Workspace, "note.txt"), []byte("the note"), 0o600); err != nil {
				t.Fatal(err)
			}
			server := s.Start()
			server.WaitRuntime()
			for _, other := range others {
				refused := server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions",
					programtest.Object{"runtime": other, "nativeTools": "off", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
				if programtest.Text(refused, "code") != "unsupported_control" {
					t.Errorf("%s answers %v", other, refused)
				}
			}
			g := givenTools{t: t, s: s, server: server, runtime: runtimeName}
			plain, events := g.opens(nil)
			g.finishes(events, server.Send(plain, programtest.OwnedTool("workspace_read", `{"path":"note.txt"}`)), "the note")
			if native, owned := offered(s); len(native) == 0 {
				t.Errorf("who says nothing has %v and %v", native, owned)
			}
			bare, _ := g.opens(programtest.Object{"nativeTools": "off"})
			g.hasNoneOfItsOwn(bare, "first")
			server.Stop()
			server = s.Start()
			server.WaitRuntime()
			g.server = server
			g.hasNoneOfItsOwn(bare, "next")
			server.Stop()
		})
	}
}

// hasNoneOfItsOwn: the agent of a session is offered the tools of the server alone and has them, and a command of the
// model, which would make a file of that name, does nothing.
func (g *givenTools) hasNoneOfItsOwn(session, name string) {
	g.t.Helper()
	events := g.server.Follow("threadId=" + session)
	g.s.Model.Forget()
	g.finishes(events, g.server.Send(session, "MOCK_CMD[touch "+name+"]"))
	g.finishes(events, g.server.Send(session, programtest.OwnedTool("workspace_read", `{"path":"note.txt"}`)), "the note")
	if _, err := os.Stat(filepath.Join(g.s.Workspace, name)); err == nil {
		g.t.Errorf("%s: a tool of its own ran", name)
	}
	if native, owned := offered(g.s); len(native) > 0 || len(owned) == 0 {
		g.t.Errorf("%s: it has %v and %v", name, native, owned)
	}
}
