package agents

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/programtest"
)

// request returns a shell command that sends the server a request with common tools, and prints the status and the
// body. The body must not contain spaces.
func request(i *programtest.Server, method, path, body string) string {
	host := strings.TrimPrefix(i.URL, "http://")
	return fmt.Sprintf(
		`bash -c "exec 3<>/dev/tcp/%s; printf '%s %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\nContent-Type: `+
			`application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s' >&3; cat <&3 2>/dev/null"`,
		strings.Replace(host, ":", "/", 1), method, path, host, len(body), strings.ReplaceAll(body, `"`, `\\\"`))
}

// throughDoor is request on the port for agents, with the bearer in the environment of the session that runs it.
func throughDoor(method, path, body string) string {
	return fmt.Sprintf(
		`bash -c "at=\${HARNESS_URL#http://}; exec 3<>/dev/tcp/\${at/://}; printf '%s %s HTTP/1.1\\r\\nHost: here\\r\\nConnection: close\\r\\n`+
			`Authorization: Bearer %%s\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s' `+
			`\$HARNESS_SESSION_TOKEN >&3; cat <&3 2>/dev/null"`,
		method, path, len(body), strings.ReplaceAll(body, `"`, `\\\"`))
}

// An agent with network access cannot use the API, in any sandbox, on both versions, as root and as another user. The
// kernel blocks the users' port completely. On the port for agents, its bearer opens no session with more rights,
// reads nothing and decides nothing, even when it disconnects at once. The log names each attempt there. Without
// network access it reaches neither port.
func TestAnAgentIsNoLocalUser(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]codextest.Version{"newest": codextest.Default, "oldest": codextest.Oldest,
		"without rights": codextest.Default} {
		if name == "without rights" && os.Geteuid() != 0 {
			continue // the others are the same
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithCodex(version))
			if name == "without rights" {
				s.Become(programtest.Unprivileged)
				s.Own(s.Workspace)
			}
			server := s.Start()
			server.WaitRuntime()
			victim := server.CreateSession(programtest.Object{})
			for _, sandbox := range []string{"read-only", "workspace-write", "danger-full-access"} {
				// The oldest codex has no network in read-only, whatever its settings.
				attacker{t, server, victim, sandbox, version == codextest.Oldest && sandbox == "read-only"}.tries()
			}
			server.Stop()
		})
	}
}

// attacker is an agent that tries to access another agent's session.
type attacker struct {
	t               *testing.T
	server          *programtest.Server
	victim, sandbox string
	unreachable     bool
}

func (a attacker) tries() {
	a.t.Helper()
	open := func(network string) string {
		return a.server.CreateSession(programtest.Object{"filesystemSandbox": a.sandbox, "networkAccess": network,
			"approvalPolicy": "never", "cwd": a.server.Workspace})
	}
	session := open("enabled")
	before := sessionIDs(a.server)
	attacks := a.attacks(session)
	var script strings.Builder
	for what, attack := range attacks {
		fmt.Fprintf(&script, "echo; echo '== %s'; (%s) 2>&1 | head -c 1500; ", what, attack)
	}
	answer := answerOf(a.server, session, "MOCK_CMD["+script.String()+"]")
	for _, result := range strings.Split(answer, "\n== ")[1:] {
		what, _, _ := strings.Cut(result, "\n")
		if !a.refused(what, result) {
			a.t.Errorf("%s: %s", a.sandbox, result)
		}
		delete(attacks, what)
	}
	if len(attacks) > 0 {
		a.t.Errorf("%s: not tried: %v\n%s", a.sandbox, attacks, answer)
	}
	for _, route := range []string{"POST /api/sessions", "GET /api/sessions", "POST /api/sessions/:sessionId/messages",
		"POST /api/agents/extensions/reload"} {
		if !a.unreachable && !a.server.Logged("refused a request of an agent", `"route":"`+route+`"`, `"agent_session":"`+session+`"`) {
			a.t.Errorf("%s: the log does not name the attempt of %s", a.sandbox, route)
		}
	}
	if after := sessionIDs(a.server); after != before {
		a.t.Errorf("%s: sessions were opened: %s, before %s", a.sandbox, after, before)
	}
	if a.sandbox == "danger-full-access" { // which has no sandbox
		return
	}
	answer = answerOf(a.server, open("restricted"), "MOCK_CMD[("+request(a.server, "GET", "/api/sessions", "")+"; "+
		throughDoor("GET", "/api/sessions", "")+") 2>&1; echo tried]")
	if strings.Contains(answer, "HTTP/1.1") || !strings.Contains(answer, "tried") {
		a.t.Errorf("%s without the network: %s", a.sandbox, answer)
	}
}

// refused reports whether an attack failed. On the users' port the kernel refuses it, on the agents' port the server
// does.
func (a attacker) refused(what, result string) bool {
	switch {
	case a.unreachable:
		return strings.Contains(result, "Operation not permitted") && !strings.Contains(result, "HTTP/1.1")
	case strings.HasPrefix(what, "port of people: "):
		return strings.Contains(result, "Permission denied") && !strings.Contains(result, "HTTP/1.1")
	case strings.HasSuffix(what, " and hang up"):
		return true
	case strings.HasSuffix(what, " without the bearer"):
		return strings.Contains(result, "HTTP/1.1 401")
	}
	return strings.Contains(result, "HTTP/1.1 403") && strings.Contains(result, "agent_forbidden")
}

// attacks returns requests by their goal, on either port.
func (a attacker) attacks(session string) map[string]string {
	full := `{"filesystemSandbox":"danger-full-access"}`
	entry := `{"messageId":"m","turnId":"t","role":"system","type":"x","content":"c","status":"complete"}`
	return map[string]string{
		"port of people: open a session":      request(a.server, "POST", "/api/sessions", full),
		"port of people: list sessions":       request(a.server, "GET", "/api/sessions", ""),
		"port of people: without environment": "env -i setsid " + request(a.server, "GET", "/api/sessions", ""),
		"port of people: as another session":  "CODEX_THREAD_ID=" + a.victim + " " + request(a.server, "GET", "/api/sessions/"+a.victim, ""),
		"open a session":                      throughDoor("POST", "/api/sessions", full),
		"open a session and hang up":          strings.Replace(throughDoor("POST", "/api/sessions", full), "cat <&3", "exec 3<&-", 1),
		"list sessions without the bearer":    "HARNESS_SESSION_TOKEN= " + throughDoor("GET", "/api/sessions", ""),
		"read another session":                throughDoor("GET", "/api/sessions/"+a.victim, ""),
		"read its own":                        throughDoor("GET", "/api/sessions/"+session, ""),
		"list sessions":                       throughDoor("GET", "/api/sessions", ""),
		"send a message":                      throughDoor("POST", "/api/sessions/"+a.victim+"/messages", `{"text":"hello"}`),
		"write a transcript":                  throughDoor("POST", "/api/sessions/"+a.victim+"/transcript/upsert", entry),
		"reload the extensions":               throughDoor("POST", "/api/agents/extensions/reload", `{}`),
		"as another session":                  "CODEX_THREAD_ID=" + a.victim + " " + throughDoor("GET", "/api/sessions/"+a.victim, ""),
	}
}

// sessionIDs returns the ids of all sessions, including those of workers.
func sessionIDs(i *programtest.Server) string {
	i.T.Helper()
	var ids []string
	for _, one := range i.Want(http.StatusOK, http.MethodGet, "/api/sessions?includeSystemOwned=true",
		nil)["data"].([]any) {
		ids = append(ids, programtest.Text(one, "sessionId"))
	}
	slices.Sort(ids) // the list is sorted by last change
	return strings.Join(ids, " ")
}

// answerOf sends a message and returns the agent's answer.
func answerOf(i *programtest.Server, session, message string) string {
	i.T.Helper()
	turn := i.Send(session, message)
	var answer string
	i.Eventually("the agent has answered", func() bool {
		for _, entry := range i.Transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				answer = programtest.Text(entry, "content")
			}
		}
		return answer != ""
	})
	return answer
}

// A worker of the queue may do its job over HTTP and nothing else: read the session, write to its transcript, store a
// suggestion, rename it, decide its approvals, steer its turn.
func TestAWorkerMayDoItsJob(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	folder := filepath.Join(s.Workspace, "agents", "helper")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // like any extension
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"agent.config.json": `{"turnPolicy":{"sandbox":"workspace-write","networkAccess":"enabled","approvalPolicy":"never"}}`,
		// The approval of a turn starts the job. The commands are in a file, so that the prompt stays simple.
		"events.mjs": `export function registerAgentEvents(registry) {
			registry.on("app_server.request.item.command_execution.request_approval", ({ payload: { context, requestId, session } }, tools) => {
				if (!session) return null;
				return tools.enqueueJob({ type: "agent_instruction", projectId: "session:" + session.id, sourceSessionId: session.id, payload: {
					agent: "helper", jobKind: "help", projectId: "session:" + session.id, sourceSessionId: session.id, threadId: session.id,
					turnId: context.turnId, instructionText: "MOCK_CMD[sh ./helper.sh " + session.id + " " + context.turnId + " " + requestId + "]" } });
			});
		}
		`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := s.Start("DEFAULT_APPROVAL_POLICY=untrusted")
	other := server.CreateSession(programtest.Object{})
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted", "filesystemSandbox": "workspace-write",
		"cwd": s.Workspace})
	var script strings.Builder
	wish := func(name, method, path, body string) {
		fmt.Fprintf(&script, "echo '== %s'; %s | head -c 400; echo\n", name, throughDoor(method, path, body))
	}
	entry := `{"messageId":"why","turnId":"t","role":"system","type":"agent.explainability","content":"because","status":"complete"}`
	wish("read", "GET", "/api/sessions/$1", "")
	wish("approvals", "GET", "/api/sessions/$1/approvals", "")
	wish("write", "POST", "/api/sessions/$1/transcript/upsert", entry)
	wish("rename", "POST", "/api/sessions/$1/rename", `{"title":"Renamed"}`)
	wish("suggest", "POST", "/api/sessions/$1/suggested-request/upsert",
		`{"requestKey":"k","status":"complete","suggestion":"next"}`)
	wish("steer", "POST", "/api/sessions/$1/turns/$2/steer", `{"input":"quick"}`)
	wish("not: read another", "GET", "/api/sessions/"+other, "")
	wish("not: write another", "POST", "/api/sessions/"+other+"/transcript/upsert", entry)
	wish("not: steer another turn", "POST", "/api/sessions/$1/turns/other/steer", `{"input":"quick"}`)
	wish("not: message", "POST", "/api/sessions/$1/messages", `{"text":"hello"}`)
	wish("not: delete", "DELETE", "/api/sessions/$1", "")
	wish("approve", "POST", "/api/approvals/$3/decision", `{"decision":"accept"}`)
	if err := os.WriteFile(filepath.Join(s.Workspace, "helper.sh"), []byte(script.String()),
		0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_CMD[touch approved.txt]")
	// helped returns the output of the helper's next job.
	seen := map[string]bool{}
	helped := func() (said string) {
		server.Eventually("the helper has done its job", func() bool {
			for _, job := range server.Want(http.StatusOK, http.MethodGet,
				"/api/projects/session:"+session+"/orchestrator/jobs", nil)["data"].([]any) {
				if state := programtest.Text(job, "state"); !seen[programtest.Text(job, "id")] && (state == "completed" || state == "failed") {
					said, seen[programtest.Text(job, "id")] = programtest.Text(job, "result", "outputText"), true
					return true
				}
			}
			return false
		})
		return said
	}
	said := helped()
	results := strings.Split(said, "== ")
	if len(results) != 13 {
		t.Fatalf("the helper said %q", said)
	}
	for _, result := range results[1:] {
		name, answer, _ := strings.Cut(result, "\n")
		want := "HTTP/1.1 200"
		if strings.HasPrefix(name, "not: ") {
			want = "HTTP/1.1 403"
		}
		if !strings.HasPrefix(answer, want) {
			t.Errorf("%s: want %s, got %s", name, want, answer)
		}
	}
	server.Eventually("the approved command has run", func() bool {
		_, err := os.Stat(filepath.Join(s.Workspace, "approved.txt"))
		return err == nil
	})
	events.WaitTurn(turn)
	// A rejected command does not run.
	script.Reset()
	wish("reject", "POST", "/api/approvals/$3/decision", `{"decision":"decline"}`)
	if err := os.WriteFile(filepath.Join(s.Workspace, "helper.sh"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	turn = server.Send(session, "MOCK_CMD[touch rejected.txt]")
	if said := helped(); !strings.Contains(said, "== reject\nHTTP/1.1 200") {
		t.Errorf("the helper got %q", said)
	}
	events.WaitTurn(turn)
	if _, err := os.Stat(filepath.Join(s.Workspace, "rejected.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was rejected has run: %v", err)
	}
	server.Stop()
}
