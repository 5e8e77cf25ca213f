package nodes

import (
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// noter writes a separate entry for each end of a turn that it gets, and an entry into session SESSION for each
// account limit.
const noter = `const note = (type, sessionId, turnId) => ({ kind: "action_request", actionType: "transcript.upsert",
  payload: { sessionId, entry: { messageId: type + Math.random(), turnId, role: "system", type, content: type, status: "complete" } } });
export function registerAgentEvents(registry) {
  registry.on("app_server.turn.completed", (event) => note("noted", event.payload.context.threadId, event.payload.context.turnId));
  registry.on("app_server.account.rate_limits.updated", () => note("limited", "SESSION", "limits"));
}`

// trioOf starts three servers on one Postgres with noter as the extension. noter records limits in session.
func trioOf(t *testing.T) (servers []*programtest.Server, session string) {
	t.Helper()
	first := programtest.New(t, withPort(), programtest.WithEngine(database.Postgres))
	maker := first.Start()
	session = maker.CreateSession(nil)
	maker.Stop()
	sites := []*programtest.Site{first}
	for range 2 {
		sites = append(sites, programtest.New(t, withPort(), programtest.WithDatabaseOf(first)))
	}
	for _, site := range sites {
		site.Env = append(site.Env, "AGENT_EXTENSION_TRUST_MODE=disabled")
		site.Extension("noter", map[string]string{"events.js": strings.ReplaceAll(noter, "SESSION", session),
			"extension.manifest.json": `{"name":"@t/noter","version":"1.0.0","agentId":"noter","displayName":"Noter",` +
				`"runtime":{"coreApiVersion":1,"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},` +
				`"entrypoints":{"events":"./events.js"},"capabilities":{"events":["app_server.turn.completed",` +
				`"app_server.account.rate_limits.updated"],"actions":["transcript.upsert"]}}`})
		servers = append(servers, site.Start())
	}
	for _, server := range servers {
		server.WaitRuntime()
	}
	return servers, session
}

// entries counts the entries of a type in a session.
func entries(server *programtest.Server, session, kind string) (count int) {
	server.T.Helper()
	all, _ := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)["transcript"].([]any)
	for _, entry := range all {
		if programtest.Text(entry, "type") == kind {
			count++
		}
	}
	return count
}

// Exactly one of three nodes dispatches a signal to extensions: the owner of its session, or without a session, the
// node whose runtime emitted it.
func TestASignalReachesExtensionsOnce(t *testing.T) {
	t.Parallel()
	servers, limits := trioOf(t)
	all := servers[0].Follow("threadId=" + limits)
	is := func(kind string) func(programtest.Frame) bool {
		return func(f programtest.Frame) bool {
			return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "entry", "type") == kind
		}
	}
	// The last turns belong to the other nodes, so those have dispatched all earlier turns by then.
	var sessions []string
	for _, turn := range []int{0, 0, 1, 2, 0, 1, 2} {
		session := servers[turn].CreateSession(nil)
		sessions = append(sessions, session)
		events := servers[turn].Follow("threadId=" + session)
		events.WaitTurn(servers[turn].Send(session, "MOCK_REPLY[done]"))
		events.Find("the note of the end", is("noted"))
		all.Wait("the note of a limit", is("limited"))
	}
	for _, session := range sessions {
		if notes := entries(servers[0], session, "noted"); notes != 1 {
			t.Errorf("the end of the turn of session %s was noted %d times", session, notes)
		}
	}
	count := said(servers[0].Site, "account/rateLimits/updated")
	servers[0].Eventually("all signals of no session are noted", func() bool { return entries(servers[0], limits, "limited") >= count })
	if notes := entries(servers[0], limits, "limited"); notes != count {
		t.Errorf("%d signals of no session were noted %d times", count, notes)
	}
}

// said counts the signals in the journal with a method and without a session.
func said(s *programtest.Site, method string) (count int) {
	s.T.Helper()
	err := dbtest.Connect(s.T, s.Store()).Read().QueryRowContext(s.T.Context(), `select count(*) from journal_events
		where session_id = '' and type = $1 and payload like '%"'||$2||'"%'`, stream.EventNotification, method).Scan(&count)
	if err != nil {
		s.T.Fatal(err)
	}
	return count
}

// reviewerOf accepts file changes. atTheEnd is its code for the end of a turn.
func reviewerOf(t *testing.T, site *programtest.Site, atTheEnd string) {
	t.Helper()
	site.Env = append(site.Env, "AGENT_EXTENSION_TRUST_MODE=disabled", "DEFAULT_SANDBOX_MODE=read-only")
	site.Extension("reviewer", map[string]string{"events.js": `export function registerAgentEvents(registry) {
  registry.on("file_change.approval_requested", (event) => ({ kind: "action_request", actionType: "approval.decide",
    payload: { approvalId: event.payload.context.approvalId, decision: "accept" } }));
  registry.on("turn.completed", (event) => { ` + atTheEnd + ` });
}`, "extension.manifest.json": `{"name":"@t/reviewer","version":"1.0.0","agentId":"reviewer","displayName":"Reviewer",` +
		`"runtime":{"coreApiVersion":1,"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},` +
		`"entrypoints":{"events":"./events.js"},"capabilities":{"events":["file_change.approval_requested","turn.completed"],` +
		`"actions":["approval.decide","transcript.upsert"]}}`})
}

// A node is lost before a handler processed the end of a turn. The session's new owner dispatches it to its own
// extensions.
func TestTheEndOfATurnOfALostNodeIsDispatched(t *testing.T) {
	t.Parallel()
	n := &nodes{siteA: programtest.New(t, movable(), programtest.WithEngine(database.Postgres))}
	n.siteB = programtest.New(t, movable(), programtest.WithDatabaseOf(n.siteA))
	reviewerOf(t, n.siteA, "")
	reviewerOf(t, n.siteB, `const { sourceSessionId: sessionId, turnId } = event.payload.context;
    return { kind: "action_request", actionType: "transcript.upsert", idempotencyKey: turnId, payload: { sessionId,
      entry: { messageId: "note-" + turnId, turnId, role: "system", type: "noted", content: "n", status: "complete" } } };`)
	n.a, n.b = n.siteA.Start(), n.siteB.Start()
	n.a.WaitRuntime()
	n.b.WaitRuntime()
	project := programtest.Text(n.a.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project", "projectId")
	session := n.a.CreateSession(programtest.Object{"cwd": t.TempDir(), "approvalPolicy": "untrusted"})
	n.a.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
	events := n.b.Follow("threadId=" + session)
	turn := n.a.Send(session, "MOCK_PATCH[made.txt]")
	if status := events.WaitTurn(turn); status != "completed" {
		t.Fatalf("the turn ended %s", status)
	}
	n.kept(t, session, turn)
	n.loseA(t)
	status, answer, _ := n.untilTaken(t, session)
	if status != http.StatusAccepted {
		t.Fatalf("the message at the other node got %d %v", status, answer)
	}
	events.Wait("the note of the taker", func(f programtest.Frame) bool {
		return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "messageId") == "note-"+turn
	})
	n.b.Eventually("the note is there", func() bool { return entries(n.b, session, "noted") == 1 })
}
