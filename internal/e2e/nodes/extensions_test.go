package nodes

import (
	"net/http"
	"testing"

	"harness/database"
	"harness/internal/programtest"
)

// noter writes an entry of its own for each end of a turn it is told of.
const noter = `export function registerAgentEvents(registry) {
  registry.on("app_server.turn.completed", (event) => ({ kind: "action_request", actionType: "transcript.upsert",
    payload: { sessionId: event.payload.context.threadId, entry: { messageId: "note-" + Math.random(),
      turnId: event.payload.context.turnId, role: "system", type: "noted", content: "noted", status: "complete" } } }));
}`

// A signal of the runtime is told to extensions by the node of its session alone.
func TestASignalIsToldToExtensionsOnce(t *testing.T) {
	t.Parallel()
	n := &nodes{siteA: programtest.New(t, withPort(), programtest.WithEngine(database.Postgres))}
	n.siteB = programtest.New(t, withPort(), programtest.WithDatabaseOf(n.siteA))
	for _, site := range []*programtest.Site{n.siteA, n.siteB} {
		site.Env = append(site.Env, "AGENT_EXTENSION_TRUST_MODE=disabled")
		site.Extension("noter", map[string]string{"events.js": noter, "extension.manifest.json": `{"name":"@t/noter","version":"1.0.0",` +
			`"agentId":"noter","displayName":"Noter","runtime":{"coreApiVersion":1,"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},` +
			`"entrypoints":{"events":"./events.js"},"capabilities":{"events":["app_server.turn.completed"],"actions":["transcript.upsert"]}}`})
	}
	n.a, n.b = n.siteA.Start(), n.siteB.Start()
	n.a.WaitRuntime()
	n.b.WaitRuntime()
	noted := func(f programtest.Frame) bool {
		return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "entry", "type") == "noted"
	}
	// The last turn is of the other node, which has been told of those before it by then.
	var sessions []string
	for _, node := range []*programtest.Server{n.a, n.a, n.b, n.a, n.b} {
		session := node.CreateSession(nil)
		sessions = append(sessions, session)
		events := node.Follow("threadId=" + session)
		events.WaitTurn(node.Send(session, "MOCK_REPLY[done]"))
		events.Find("the note of the end", noted)
	}
	for _, session := range sessions {
		notes := 0
		entries, _ := n.a.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)["transcript"].([]any)
		for _, entry := range entries {
			if programtest.Text(entry, "type") == "noted" {
				notes++
			}
		}
		if notes != 1 {
			t.Errorf("the end of the turn of session %s was noted %d times", session, notes)
		}
	}
}
