package agents

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"harness/api"
	"harness/tests/programtest"
)

// planted are secrets in all places that hold some, by their kind: variables of the server, each runtime's key and a
// file in its home, and keys of logins at run time.
type planted map[string]string

func plant() planted {
	secrets := planted{}
	for _, what := range []string{"server", "codex key", "claude key", "gemini key", "opencode key", "claude file",
		"gemini file", "opencode file", "gemini login", "opencode login", "claude-acp login",
		"codex-acp login", "opencode-acp login"} {
		secrets[what] = "canary-" + strings.ReplaceAll(what, " ", "-") + "-" + uuid.NewString()
	}
	return secrets
}

// in returns the secrets that a text contains.
func (p planted) in(content string) (found []string) {
	for what, secret := range p {
		if strings.Contains(content, secret) {
			found = append(found, what)
		}
	}
	return found
}

// Every real agent in turn tries to find secrets of others. No secret of the environment or of a credential namespace
// is in the log, a frame, the response of any route that reads, the command line of any process, another namespace,
// or the server's stored data.
func TestPlantedSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	secrets := plant()
	s := withEveryRuntime(t, programtest.WithEnv("LOG_LEVEL=debug",
		"AGENT_EXTENSION_RBAC_JWT_SECRET="+secrets["server"]))
	for i, assignment := range s.Env {
		s.Env[i] = strings.Replace(assignment, "canary-of-opencode", secrets["opencode key"], 1)
	}
	s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,claude,gemini,opencode,claude-acp,codex-acp,opencode-acp",
		"OPENAI_API_KEY="+secrets["codex key"], "ANTHROPIC_API_KEY="+secrets["claude key"], "GEMINI_API_KEY="+secrets["gemini key"])
	server := s.Start()
	events := server.Follow("after=0")
	runtimes, sessions := []string{"codex", "claude", "gemini", "opencode"}, map[string]string{}
	converse := func(name string) {
		sessions[name] = server.CreateSession(programtest.Object{"runtime": name, "approvalPolicy": "untrusted",
			"filesystemSandbox": "danger-full-access", "networkAccess": "enabled", "cwd": s.Workspace})
		if status := events.FindTurn(server.Send(sessions[name], "MOCK_REPLY[here]")); status != "completed" {
			t.Fatalf("%s: its turn ended %s", name, status)
		}
	}
	for _, name := range runtimes {
		converse(name)
	}
	for _, name := range []string{"gemini", "opencode", "claude-acp", "codex-acp", "opencode-acp"} {
		server.Want(http.StatusOK, http.MethodPost, "/api/runtimes/"+name+"/login", programtest.Object{"apiKey": secrets[name+" login"]})
	}
	converse("claude-acp") // its process was restarted with the key, like the next ones
	converse("codex-acp")
	converse("opencode-acp")
	homes := filepath.Join(s.DataDir, "credentials", "namespaces")
	var pry strings.Builder
	for _, name := range runtimes[1:] {
		for _, home := range folders(t, filepath.Join(homes, name)) {
			if err := os.WriteFile(filepath.Join(home, "planted"), []byte(secrets[name+" file"]), 0o600); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&pry, "test $0 = sh-%s || cat %s/planted 2>&1; ", name, home)
		}
	}
	for _, name := range runtimes {
		// It may read its own key, but its environment must not contain other keys.
		script := strings.ReplaceAll(pry.String(), "$0", "sh-"+name)
		for _, other := range append([]string{"server"}, runtimes...) {
			if other != name {
				script += "env | grep canary-" + other + "-; "
			}
		}
		turn := server.Send(sessions[name], "MOCK_CMD["+script+"echo pried]")
		server.Eventually(name+" is allowed all it asks for", func() bool {
			for _, asked := range server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+sessions[name]+"/approvals",
				nil)["data"].([]any) {
				server.Decide(programtest.Text(asked, "approvalId"))
			}
			return slices.ContainsFunc(events.All(), func(f programtest.Frame) bool {
				return f.Type == "notification" && programtest.Text(f.Decoded(), "method") == "turn/completed" &&
					programtest.Text(f.Decoded(), "params", "turn", "id") == turn
			})
		})
		if status := events.FindTurn(turn); status != "completed" {
			t.Errorf("%s: its turn ended %s", name, status)
		}
		if !strings.Contains(fmt.Sprint(server.Entries(sessions[name], "commandExecution")), "pried") {
			t.Errorf("%s: the command did not run: %v", name, server.Transcript(sessions[name]))
		}
	}

	shown := map[string]string{}
	project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
		"projectId")
	for _, operation := range api.Operations() {
		if operation.Method != http.MethodGet || operation.Path == "/api/stream" || operation.Path == "/agui/{sessionId}" { // these do not end
			continue
		}
		for _, name := range runtimes {
			target := strings.NewReplacer("{sessionId}", sessions[name], "{projectId}", project, "{runtime}", name, "{turnId}",
				"t", "{jobId}", "j", "{key}", "k", "{serverName}", "s").Replace(operation.Path)
			for _, query := range []string{"", "?runtime=" + name} {
				_, answer, err := server.Try(http.MethodGet, target+query, nil)
				if err != nil {
					t.Errorf("%s: %v", target, err)
				}
				shown["GET "+target+query] = string(answer)
			}
		}
	}
	if health := shown["GET /api/health"]; !strings.Contains(health, `"opencode"`) || len(shown) < 40 {
		t.Errorf("the test lost its point: %d answers; %.500s", len(shown), health)
	}
	for _, f := range events.All() {
		shown[fmt.Sprintf("frame %d, %s", f.Pos, f.Type)] = f.Raw
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if content, err := os.ReadFile(line); err == nil { // otherwise it has ended
			shown[line] = string(content)
		}
	}
	server.Stop()
	shown["the log"] = server.Log()
	if !strings.Contains(shown["the log"], `"level":"debug"`) {
		t.Error("the log has not everything")
	}
	err = filepath.WalkDir(s.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		shown[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for place, content := range shown {
		for _, what := range secrets.in(content) {
			owner, _, _ := strings.Cut(what, " ")
			if strings.HasPrefix(place, filepath.Join(homes, owner)+"/") {
				found++
				continue
			}
			t.Errorf("the secret %q is in %s", what, place)
		}
	}
	if found < 3 {
		t.Errorf("only %d of the planted files were seen", found)
	}
}

// folders returns the folders in a folder.
func folders(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			all = append(all, filepath.Join(dir, entry.Name()))
		}
	}
	if len(all) == 0 {
		t.Fatalf("no home in %s", dir)
	}
	return all
}
