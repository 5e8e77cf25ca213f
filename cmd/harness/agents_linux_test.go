package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/codextest"
)

// request is a shell command that makes a request of the server with what every machine has, and prints status and
// body. It takes no spaces in the body.
func (i *instance) request(method, path, body string) string {
	host := strings.TrimPrefix(i.url, "http://")
	return fmt.Sprintf(
		`bash -c "exec 3<>/dev/tcp/%s; printf '%s %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\nContent-Type: `+
			`application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s' >&3; cat <&3"`,
		strings.Replace(host, ":", "/", 1), method, path, host, len(body), strings.ReplaceAll(body, `"`, `\\\"`))
}

// An agent with the network, in any sandbox, on both versions, as root and as somebody else, cannot use the API: it
// opens no session with more rights, reads nothing and decides nothing, also when it hangs up at once or found the
// token; the log names each attempt. Without the network it does not reach the server at all.
func TestAnAgentIsNoLocalUser(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]codextest.Version{"newest": codextest.Default, "oldest": codextest.Oldest,
		"without rights": codextest.Default} {
		if name == "without rights" && os.Geteuid() != 0 {
			continue // the others have none either
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withCodex(version))
			if name == "without rights" {
				s.become(unprivileged)
				s.own(s.workspace)
			}
			server := s.start()
			server.waitRuntime()
			victim := server.createSession(object{})
			for _, sandbox := range []string{"read-only", "workspace-write", "danger-full-access"} {
				session := server.createSession(object{"filesystemSandbox": sandbox, "networkAccess": "enabled",
					"approvalPolicy": "never", "cwd": server.workspace})
				before := server.sessionIDs()
				attacks := map[string]string{
					"open a session": server.request("POST", "/api/sessions", `{"filesystemSandbox":"danger-full-access"}`),
					"open one and hang up": strings.Replace(
						server.request("POST", "/api/sessions", `{"filesystemSandbox":"danger-full-access"}`), "cat <&3", "exec 3<&-", 1),
					"read another session": server.request("GET", "/api/sessions/"+victim, ""),
					"read its own":         server.request("GET", "/api/sessions/"+session, ""),
					"list sessions":        server.request("GET", "/api/sessions", ""),
					"send a message":       server.request("POST", "/api/sessions/"+victim+"/messages", `{"text":"hello"}`),
					"write a transcript": server.request("POST", "/api/sessions/"+victim+"/transcript/upsert",
						`{"messageId":"m","turnId":"t","role":"system","type":"x","content":"c","status":"complete"}`),
					"reload the extensions": server.request("POST", "/api/agents/extensions/reload", `{}`),
					"without environment":   "env -i setsid " + server.request("GET", "/api/sessions", ""),
					"as another session":    "CODEX_THREAD_ID=" + victim + " " + server.request("GET", "/api/sessions/"+victim, ""),
				}
				var script strings.Builder
				for what, attack := range attacks {
					fmt.Fprintf(&script, "echo; echo '== %s'; (%s) 2>&1 | head -c 1500; ", what, attack)
				}
				answer := server.answer(session, "MOCK_CMD["+script.String()+"]")
				for _, result := range strings.Split(answer, "\n== ")[1:] {
					refused := strings.Contains(result, "HTTP/1.1 403") && strings.Contains(result, "agent_forbidden")
					// The oldest codex has no network in read-only, whatever is asked for.
					unreachable := version == codextest.Oldest && sandbox == "read-only" &&
						strings.Contains(result, "Operation not permitted")
					if !refused && !unreachable && !strings.HasPrefix(result, "open one and hang up") {
						t.Errorf("%s: %s", sandbox, result)
					}
					delete(attacks, strings.SplitN(result, "\n", 2)[0])
				}
				if len(attacks) > 0 {
					t.Errorf("%s: not tried: %v\n%s", sandbox, attacks, answer)
				}
				for _, route := range []string{"POST /api/sessions", "GET /api/sessions", "POST /api/sessions/:sessionId/messages",
					"POST /api/agents/extensions/reload"} {
					words := []string{"refused a request from inside of a runtime", `"route":"` + route + `"`,
						`"agent_session":"` + session + `"`}
					if version == codextest.Oldest {
						words = words[:2] // it does not say which session a command belongs to
						if sandbox == "read-only" {
							continue // nothing arrived
						}
					}
					if !server.logged(words...) {
						t.Errorf("%s: the log does not name the attempt of %s", sandbox, route)
					}
				}
				if after := server.sessionIDs(); after != before {
					t.Errorf("%s: sessions were opened: %s, before %s", sandbox, after, before)
				}
				if sandbox != "danger-full-access" { // which has no walls
					restricted := server.createSession(object{"filesystemSandbox": sandbox, "networkAccess": "restricted",
						"approvalPolicy": "never", "cwd": server.workspace})
					answer := server.answer(restricted, "MOCK_CMD[("+server.request("GET", "/api/sessions", "")+") 2>&1; echo tried]")
					if strings.Contains(answer, "HTTP/1.1") || !strings.Contains(answer, "tried") {
						t.Errorf("%s without the network: %s", sandbox, answer)
					}
				}
			}
			server.stop()
		})
	}
}

// sessionIDs are the ids of all sessions, those of workers too.
func (i *instance) sessionIDs() string {
	i.t.Helper()
	var ids []string
	for _, one := range i.want(http.StatusOK, http.MethodGet, "/api/sessions?includeSystemOwned=true",
		nil)["data"].([]any) {
		ids = append(ids, text(one, "sessionId"))
	}
	return strings.Join(ids, " ")
}

// answer sends a message and returns what the agent answers.
func (i *instance) answer(session, message string) string {
	i.t.Helper()
	turn := i.send(session, message)
	var answer string
	i.eventually("the agent has answered", func() bool {
		for _, entry := range i.transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				answer = text(entry, "content")
			}
		}
		return answer != ""
	})
	return answer
}

// A worker of the queue may do over HTTP what its job is about, and nothing beside it: read the session, write and
// suggest into it, rename it, decide its approvals, steer its turn.
func TestAWorkerMayDoItsJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder := filepath.Join(s.workspace, "agents", "helper")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // like any extension
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"agent.config.json": `{"turnPolicy":{"sandbox":"workspace-write","networkAccess":"enabled","approvalPolicy":"never"}}`,
		// The approval of a turn starts the job; the commands are in a file, so that the words of the model stay plain.
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
	server := s.start("DEFAULT_APPROVAL_POLICY=untrusted")
	other := server.createSession(object{})
	session := server.createSession(object{"approvalPolicy": "untrusted", "filesystemSandbox": "workspace-write",
		"cwd": s.workspace})
	var script strings.Builder
	wish := func(name, method, path, body string) {
		fmt.Fprintf(&script, "echo '== %s'; %s | head -c 400; echo\n", name, server.request(method, path, body))
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
	if err := os.WriteFile(filepath.Join(s.workspace, "helper.sh"), []byte(script.String()),
		0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_CMD[touch approved.txt]")
	// helped is what the only one of the helper's jobs said that is not told yet.
	told := map[string]bool{}
	helped := func() (said string) {
		server.eventually("the helper has done its job", func() bool {
			for _, job := range server.want(http.StatusOK, http.MethodGet,
				"/api/projects/session:"+session+"/orchestrator/jobs", nil)["data"].([]any) {
				if state := text(job, "state"); !told[text(job, "id")] && (state == "completed" || state == "failed") {
					said, told[text(job, "id")] = text(job, "result", "outputText"), true
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
	server.eventually("the approved command has run", func() bool {
		_, err := os.Stat(filepath.Join(s.workspace, "approved.txt"))
		return err == nil
	})
	events.waitTurn(turn)
	// What it rejects does not run.
	script.Reset()
	wish("reject", "POST", "/api/approvals/$3/decision", `{"decision":"decline"}`)
	if err := os.WriteFile(filepath.Join(s.workspace, "helper.sh"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	turn = server.send(session, "MOCK_CMD[touch rejected.txt]")
	if said := helped(); !strings.Contains(said, "== reject\nHTTP/1.1 200") {
		t.Errorf("the helper was told %q", said)
	}
	events.waitTurn(turn)
	if _, err := os.Stat(filepath.Join(s.workspace, "rejected.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was rejected has run: %v", err)
	}
	server.stop()
}
