package agents

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/claude"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/opencode"
	"harness/tests/agenttest"
	"harness/tests/dbtest"
	"harness/tests/mockmodel"
	"harness/tests/programtest"
)

// Secrets of a server and of its runtimes' providers, which must not leak.
const (
	geminiKey  = "planted-gemini-key-51f0"
	openAIKey  = "sk-planted-openai-77ab"
	rbacSecret = "planted-rbac-secret-0123456789abcdef"
)

// driven is a runtime, with the facts for tests that run all of them on one server.
type driven struct {
	name string
	// command returns the prompt that makes its model run a command that needs an approval.
	command func(string) string
	// plan is the prompt that makes its model create a plan, "" if it has no tool for that: codex gives the models of
	// the tests none.
	plan   string
	levels programtest.Object
	// refused is a level that it does not enforce.
	refused programtest.Object
}

// everyRuntime returns everyDoor without OpenCode over ACP. Three other agents cover the protocol, and OpenCode's own
// adapter covers OpenCode. Its start costs more CPU time than all the others together.
func everyRuntime() []driven {
	return slices.DeleteFunc(everyDoor(), func(one driven) bool { return one.name == openCodeACP })
}

const openCodeACP = "opencode-acp"

// everyDoor returns all runtimes of a server except codex, which most other tests cover. Only approvals restrict
// their sessions.
func everyDoor() []driven {
	run := func(marker string) func(string) string {
		return func(command string) string { return marker + "[" + command + "]" }
	}
	open := programtest.Object{"approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}
	const (
		todo  = `MOCK_CALL[todowrite|{"todos":[{"content":"one","status":"in_progress","priority":"high","id":"1"}]}]END`
		tasks = `MOCK_CALL[TaskCreate|{"subject":"one","description":"one"}]END`
	)
	unconfined := programtest.Object{"filesystemSandbox": "workspace-write"}
	return []driven{
		{"claude", run("MOCK_CMD"), tasks, open, nil}, {"claude-acp", run("MOCK_CMD"), tasks, open, unconfined},
		// codex asks before a command leaves its sandbox.
		{"codex-acp", run("MOCK_ESC"), "", open, unconfined}, {"gemini", run("MOCK_CMD"), "", open, unconfined},
		// The slow ones start in the background.
		{"opencode", run("MOCK_CMD"), todo, open, unconfined}, {openCodeACP, run("MOCK_CMD"), "", open, unconfined},
	}
}

// allRuntimes returns everyRuntime and codex.
func allRuntimes() []string {
	names := []string{codex.Name, claude.Name, opencode.Name}
	for _, profile := range acp.Shipped() {
		if profile.Name != openCodeACP {
			names = append(names, profile.Name)
		}
	}
	return names
}

// andOpenCodeOverACP adds OpenCode over ACP to a site.
func andOpenCodeOverACP(s *programtest.Site) *programtest.Site {
	s.Env = append(s.Env, "HARNESS_RUNTIMES="+strings.Join(append(allRuntimes(), openCodeACP), ","))
	return s
}

// bridges returns a folder with the bridges of the Agent Client Protocol, by the names of their programs.
func bridges(t *testing.T) string {
	t.Helper()
	programs := t.TempDir()
	for name, agent := range map[string]string{"claude-agent-acp": "claude-acp", "codex-acp": "codex-acp"} {
		if err := os.Symlink(agenttest.Binary(t, agent), filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	return programs
}

// withEveryRuntime makes a site with every real agent, each with the scripted model.
func withEveryRuntime(t *testing.T, options ...programtest.SiteOption) *programtest.Site {
	t.Helper()
	s := programtest.WithOpenCode(t, options...)
	s.Env = append(s.Env, "HARNESS_CHECKPOINTS=on", "PATH="+bridges(t)+string(filepath.ListSeparator)+agenttest.PathWithout(t, "bwrap"),
		"HARNESS_RUNTIMES="+strings.Join(allRuntimes(), ","), "CLAUDE_BIN="+agenttest.Binary(t, "claude"),
		"CLAUDE_CODE_EXECUTABLE="+agenttest.Binary(t, "claude"), "ANTHROPIC_API_KEY="+programtest.ClaudeKey,
		"ANTHROPIC_BASE_URL="+s.Model.Root(), "GEMINI_BIN="+agenttest.Binary(t, "gemini"), "GEMINI_API_KEY="+geminiKey,
		"GOOGLE_GEMINI_BASE_URL="+s.Model.Root(), "CODEX_PATH="+agenttest.Binary(t, "codex"),
		"OPENAI_API_KEY="+openAIKey, "AGENT_EXTENSION_RBAC_JWT_SECRET="+
			rbacSecret, `DEFAULT_AUTH_REQUEST={"methodId":"api-key"}`,
		"HARNESS_RUNTIME_ENV_ALLOW=codex-acp:DEFAULT_AUTH_REQUEST")
	return s
}

// processOf returns the process id of the agent that serves a session, 0 if there is none.
func processOf(i *programtest.Server, runtime, session string) int {
	i.T.Helper()
	for _, one := range i.Want(http.StatusOK, http.MethodGet, "/api/runtimes/"+runtime, nil)["processes"].([]any) {
		if serves := programtest.Text(one, "sessionId"); serves == "" || serves == session {
			pid, _ := strconv.Atoi(programtest.Text(one, "pid"))
			return pid
		}
	}
	return 0
}

// sendAfterDeath sends a message to an agent whose process may have just ended. The server waits 10 s for the next
// process. On a slow machine it then returns 503, and sendAfterDeath sends the message again.
func sendAfterDeath(i *programtest.Server, session, text string) (turn string) {
	i.T.Helper()
	i.Eventually("the next process gets a message", func() bool {
		began := time.Now()
		status, answer := i.Call(http.MethodPost, "/api/sessions/"+session+"/messages", programtest.Object{"text": text})
		waited := time.Since(began)
		if status != http.StatusAccepted && (status != http.StatusServiceUnavailable || waited < 9*time.Second) {
			i.T.Fatalf("a message beside the death of its agent is answered %d after %s: %v", status, waited, answer)
		}
		turn = programtest.Text(answer, "turnId")
		return status == http.StatusAccepted
	})
	return turn
}

// conversation is a session of a runtime in a test.
type conversation struct {
	driven
	session, turn, approval, file string
	pid                           int
}

// RA-20, RA-22, RA-23: whole servers with every real agent at once, two sessions of each. The server is killed while
// a turn of each agent waits for an approval. The next server adopts all agents, the answers reach them, and each
// turn ends once. Then each agent is killed in a turn. That turn is interrupted, and the next message continues the
// conversation.
func TestEveryRuntimeOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s, tried := andOpenCodeOverACP(withEveryRuntime(t, programtest.WithEngine(engine))), everyDoor()
			if engine == database.Postgres { // the store treats all runtimes alike
				tried = tried[:2]
				s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,"+tried[0].name+","+tried[1].name)
			}
			server := s.Start()
			server.WaitRuntime()
			events := server.Follow("after=0")
			var all []*conversation
			for _, one := range tried {
				all = append(all, &conversation{driven: one, file: filepath.Join(s.Workspace, one.name)})
			}
			each := func(name string, do func(c *conversation, t *testing.T)) {
				for _, c := range all {
					t.Run(c.name+" "+name, func(t *testing.T) { do(c, t) })
				}
			}
			each("begins", func(c *conversation, t *testing.T) { c.begins(t, server, events, engine == database.SQLite) })
			requireKeysKept(s, server, all)
			seen := events.All()
			server.Kill()

			server = s.Start()
			events = server.Follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
			each("goes on", func(c *conversation, t *testing.T) { c.goesOn(t, server, events) })
			if engine == database.SQLite {
				for _, one := range append(tried, codexItself()) {
					t.Run(one.name+" is rewound", func(t *testing.T) { one.isRewound(t, server, events) })
				}
			}
			if engine == database.SQLite { // the effect of a dead agent does not depend on the store
				each("is killed", func(c *conversation, t *testing.T) { c.isKilled(t, server, events) })
			}
			server.Stop()
			s.RequireNoOrphans()
			s.FoldJournal("") // no gaps
		})
	}
}

// begins leaves a turn that waits for an approval, and completes a whole turn in another session.
func (c *conversation) begins(t *testing.T, server *programtest.Server, events *programtest.Follower, whole bool) {
	for field, level := range c.refused {
		answer := server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions",
			programtest.Object{"runtime": c.name, field: level})
		if said := fmt.Sprint(answer); !strings.Contains(said, field) || !strings.Contains(said, "unsupported_control") {
			t.Errorf("%s %s is refused with %s", field, level, said)
		}
	}
	body := programtest.Object{"runtime": c.name}
	for name, level := range c.levels {
		body[name] = level
	}
	c.session = server.CreateSession(body)
	c.turn = server.Send(c.session, c.command("touch "+c.file))
	apart := filepath.Join(server.Workspace, c.name+"-beside")
	if err := os.Mkdir(apart, 0o755); err != nil {
		t.Fatal(err)
	}
	body["cwd"] = apart // two turns in one folder have no lines of their own
	beside := server.CreateSession(body)
	if whole {
		c.wholeTurn(t, server, events, beside)
	} else if status := events.FindTurn(server.Send(beside, "MOCK_REPLY[beside]")); status != "completed" {
		t.Errorf("the turn of another session ended %s", status)
	}
	c.approval = programtest.Text(approvalOf(events, c.session, 0), "approvalId")
	if c.pid = processOf(server, c.name, c.session); c.pid == 0 {
		t.Error("nothing serves it")
	}
}

// wholeTurn checks a turn as clients written for codex see it: they get frames and entries that they know, with the
// content that they show.
func (c *conversation) wholeTurn(t *testing.T, server *programtest.Server, events *programtest.Follower, session string) {
	made := filepath.Join(server.Workspace, c.name+"-beside", c.name+".txt")
	view := server.Follow("after=0&view=console")
	turn := server.Send(session, c.command("echo said-by-"+c.name)+" MOCK_PATCH["+made+"] "+c.plan)
	asked := 0
	for approval := approvalOf(events, session, 0); approval != nil; approval = approvalOf(events, session, asked) {
		asked++
		if programtest.Text(approval, "summary") == "" {
			t.Errorf("an approval without a summary: %v", approval)
		}
		server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(approval, "approvalId")+"/decision",
			programtest.Object{"decision": "accept"})
	}
	if status := events.FindTurn(turn); status != "completed" || asked == 0 {
		t.Errorf("the turn ended %s, and asked %d times", status, asked)
	}
	counts := map[string]int{}
	for _, f := range events.All() {
		if f.ThreadID == nil || *f.ThreadID != session {
			continue
		}
		counts[f.Type]++
		if f.Type == "notification" {
			counts[programtest.Text(f.Decoded(), "method")]++
			counts[programtest.Text(f.Decoded(), "method")+" "+programtest.Text(f.Decoded(), "params", "item", "type")]++
		}
		if f.Type == "turn_diff_updated" && !strings.Contains(programtest.Text(f.Decoded(), "diff"), "+hello from mock") {
			t.Errorf("a diff without what was written: %s", f.Raw)
		}
	}
	expected := []string{"turn/started", "item/started commandExecution", "item/completed commandExecution",
		"item/completed fileChange", "item/agentMessage/delta", "item/completed agentMessage", "approval",
		"approval_resolved", "thread_token_usage_updated", "turn_diff_updated"}
	if c.plan != "" {
		expected = append(expected, "turn_plan_updated")
	}
	if can := server.Want(http.StatusOK, http.MethodGet, "/api/capabilities?runtime="+c.name, nil); c.plan != "" &&
		programtest.Text(can, "capabilities", "plan") != "true" {
		t.Errorf("its capabilities are %v", can["capabilities"])
	}
	for _, one := range expected {
		if counts[one] == 0 {
			t.Errorf("no %s among %v; it said %v", one, slices.Sorted(maps.Keys(counts)), server.Entries(session, "agentMessage"))
		}
	}
	entries := server.Transcript(session)
	for kind, says := range map[string]string{"userMessage": "MOCK_", "commandExecution": "Command execution completed: ",
		"fileChange":   "File change completed",
		"agentMessage": "Tool said: ", "approval.resolved": ""} {
		if found := programtest.Entry(t, entries, kind); !strings.Contains(programtest.Text(found, "content"), says) {
			t.Errorf("an entry of type %s says %v", kind, found["content"])
		}
	}
	if !strings.Contains(programtest.Text(programtest.Entry(t, entries, "fileChange"), "details"), "hello from mock") {
		t.Errorf("no diff in %v", programtest.Entry(t, entries, "fileChange"))
	}
	requireChanged(t, server, session, turn, filepath.Base(made))
	requireBlamed(t, server, session, turn, filepath.Base(made))
	view.Find("an update of the changes of "+session, func(f programtest.Frame) bool { // WT-12
		return f.Type == "session_changes_updated" && *f.ThreadID == session && programtest.Text(f.Decoded(), "files") != "0"
	})
	if counts["session_changes_updated"] > 0 {
		t.Error("codex-manager's clients get updates of changes")
	}
	if models, listed := server.Want(http.StatusOK, http.MethodGet, "/api/models?runtime="+c.name, nil)["data"].([]any); !listed || len(models) == 0 {
		t.Error("no models")
	}
}

// goesOn answers, on the restarted server, what the previous server was asked.
func (c *conversation) goesOn(t *testing.T, server *programtest.Server, events *programtest.Follower) {
	server.Eventually("its process is taken over", func() bool { return processOf(server, c.name, c.session) == c.pid })
	if _, err := os.Stat(c.file); err == nil {
		t.Error("the command ran before it was allowed")
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+c.approval+"/decision", programtest.Object{"decision": "accept"})
	if status := events.FindTurn(c.turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	if _, err := os.Stat(c.file); err != nil {
		t.Error(err)
	}
	if commands := server.Entries(c.session, "commandExecution"); len(commands) != 1 {
		t.Errorf("the transcript has commands %v", commands)
	}
	requireOneEnd(t, events, c.turn)
	requireChanged(t, server, c.session, c.turn, filepath.Base(c.file))
}

// WT-07: requireChanged fails unless the files of a session show a new file, and name the turn that made it.
func requireChanged(t *testing.T, server *programtest.Server, session, turn, file string) {
	t.Helper()
	for _, query := range []string{"", "?turn=" + turn} {
		files, _ := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/changes"+query, nil)["files"].([]any)
		if !slices.ContainsFunc(files, func(one any) bool {
			return programtest.Text(one, "path") == file && programtest.Text(one, "kind") == "added" && programtest.Text(one, "turnId") == turn
		}) {
			t.Errorf("the changes%s of turn %s without %s: %v", query, turn, file, files)
		}
	}
}

// WT-64: requireBlamed fails unless the lines of a new file name the turn, its message and the approval.
func requireBlamed(t *testing.T, server *programtest.Server, session, turn, file string) {
	t.Helper()
	blame := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/blame?path="+file, nil)
	lines, _ := blame["lines"].([]any)
	if len(lines) != 1 || programtest.Text(lines[0], "turnId") != turn || programtest.Text(lines[0], "sessionId") != session ||
		programtest.Text(lines[0], "certain") != "true" || !strings.Contains(programtest.Text(lines[0], "prompt"), "MOCK_") ||
		programtest.Text(lines[0], "approvalId") == "" {
		t.Errorf("the lines of %s in turn %s: %v", file, turn, blame)
	}
}

// isKilled kills the agent in a turn.
func (c *conversation) isKilled(t *testing.T, server *programtest.Server, events *programtest.Follower) {
	held := server.Send(c.session, "MOCK_HOLD["+c.name+"]")
	if err := server.Model.WaitHeld(t.Context(), c.name); err != nil {
		t.Fatal(err)
	}
	var pid int // 0 would be the test's own process group
	server.Eventually("its process is known", func() bool { pid = processOf(server, c.name, c.session); return pid > 0 })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := events.FindTurn(held); status != "interrupted" {
		t.Errorf("the turn of a killed agent ended %s", status)
	}
	if status := events.FindTurn(server.Send(c.session, "MOCK_REPLY["+c.name+" is still here]")); status != "completed" {
		t.Errorf("the turn after it ended %s", status)
	}
	said := server.Entries(c.session, "agentMessage")
	if len(said) == 0 || programtest.Text(said[len(said)-1], "content") != c.name+" is still here" {
		t.Errorf("it said %v", said)
	}
	if !slices.ContainsFunc(server.Model.Requests(), func(r mockmodel.Request) bool {
		return strings.Contains(string(r.Body), c.name+" is still here") && strings.Contains(string(r.Body), "touch "+c.file)
	}) {
		t.Error("the model did not get the first turn")
	}
	requireOneEnd(t, events, c.turn)
	requireOneEnd(t, events, held)
}

// requireOneEnd fails unless a turn ended exactly once.
func requireOneEnd(t *testing.T, events *programtest.Follower, turn string) {
	t.Helper()
	ended := 0
	for _, f := range events.All() {
		if f.Type == "notification" && programtest.Text(f.Decoded(), "method") == "turn/completed" &&
			programtest.Text(f.Decoded(), "params", "turn", "id") == turn {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("turn %s ended %d times", turn, ended)
	}
}

// requireKeysKept fails if the agents got secrets that they must not have.
func requireKeysKept(s *programtest.Site, server *programtest.Server, all []*conversation) {
	s.T.Helper()
	for _, c := range all {
		switch c.name {
		case "claude":
			requireKeyKept(s, server, strconv.Itoa(c.pid))
		case "gemini":
			requireKeyOnlyIn(s.T, geminiKey, runtimeProcesses(s, c.name), runtimeProcesses(s, "codex"))
		case "opencode":
			requireSecretsKept(s, server, strconv.Itoa(c.pid), programtest.ClaudeKey, geminiKey, openAIKey, rbacSecret)
		}
	}
}

// approvalOf waits for a session's next approval, after a number of earlier ones. It returns nil if the session's
// first turn ends before that.
func approvalOf(f *programtest.Follower, session string, before int) programtest.Object {
	f.T.Helper()
	found := f.Find("an approval of session "+session, func(f programtest.Frame) bool {
		if f.ThreadID == nil || *f.ThreadID != session {
			return false
		}
		if f.Type == "approval" {
			before--
		}
		return before < 0 || programtest.Text(f.Decoded(), "method") == "turn/completed"
	})
	if found.Type != "approval" {
		return nil
	}
	return found.Decoded()
}
