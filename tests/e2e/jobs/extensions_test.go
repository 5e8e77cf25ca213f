package jobs

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// reviewer approves every file change, notes the end of the turn in the transcript, and queues a job of an
// unknown type.
const reviewer = `
import { note } from "./lib/words";
export function registerAgentEvents(registry: any) {
  registry.on("file_change.approval_requested", async (event: any, tools: any) => {
    const settings = await tools.getSessionSettings(event.payload.context.sourceSessionId);
    if (settings.review === false) return;
    return { kind: "action_request", actionType: "approval.decide", payload: { approvalId: event.payload.context.approvalId, decision: "accept" } };
  });
  registry.on("turn.completed", (event: any) => ({
    kind: "action_request", actionType: "transcript.upsert", idempotencyKey: "note",
    payload: { sessionId: event.payload.context.sourceSessionId, entry: { messageId: "note-1", turnId: event.payload.context.turnId, role: "system",
      type: "reviewer.note", content: note(event.payload.fileChangeRequestCount), status: "complete" } },
  }));
  registry.on("app_server.turn.started", () => { while (true) {} }, { timeoutMs: 50 });
}
`

func reviewerManifest(version string) string {
	return `{"name":"@t/reviewer","version":"` + version +
		`","agentId":"reviewer","displayName":"Reviewer","runtime":{"coreApiVersion":1,` +
		`"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},` +
		`"entrypoints":{"events":"./events.ts"},"capabilities":{"events":["file_change.approval_requested",` +
		`"turn.completed","app_server.turn.started"],"actions":["approval.decide","transcript.upsert"]}}`
}

// EX-21, EX-23, EX-36, EX-39, LC-01, LC-04, LC-05: a TypeScript extension decides a real codex's file change and
// writes to its transcript. This works on both stores, in trust mode enforced and next to a handler that never ends.
// A reload loads an edited helper, and a broken helper changes nothing.
func TestExtensionReviewsFileChanges(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite),
				programtest.WithEnv("AGENT_EXTENSION_TRUST_MODE=enforced", "DEFAULT_SANDBOX_MODE=read-only"))
			s.Extension("reviewer",
				map[string]string{"events.ts": reviewer, "extension.manifest.json": reviewerManifest("1.0.0"),
					"lib/words.ts": `export const note = (n: number): string => "first: " + n;`})
			server := s.Start()
			project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
				"projectId")
			session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
			server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
			events := server.Follow("threadId=" + session)

			turn := server.Send(session, "MOCK_PATCH[made.txt]")
			resolved := events.WaitType("approval_resolved").Decoded()
			if programtest.Text(resolved, "decision") != "accept" {
				t.Errorf("the extension decided %v", resolved)
			}
			if status := events.WaitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			note := events.Wait("the extension's note", func(f programtest.Frame) bool {
				return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "messageId") == "note-1"
			}).Decoded()
			if programtest.Text(note, "entry", "content") != "first: 1" || programtest.Text(note, "turnId") != turn {
				t.Errorf("noted %v", note)
			}

			listing := server.Want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil)
			before := programtest.Text(listing, "snapshotVersion")
			// A helper is edited together with a version. The reload applies both.
			s.Extension("reviewer", map[string]string{"extension.manifest.json": reviewerManifest("1.1.0"),
				"lib/words.ts": `export const note = (n: number): string => "second: " + n;`})
			reloaded := server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
			if programtest.Text(reloaded, "loadedCount") != "1" || programtest.Text(reloaded, "snapshotVersion") == before {
				t.Errorf("reload: %v", reloaded)
			}
			s.Extension("reviewer", map[string]string{"lib/words.ts": `export const note = ;`})
			refused := server.Want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
			if programtest.Text(refused, "code") != "reload_failed" ||
				programtest.Text(refused, "snapshotVersion") != programtest.Text(reloaded, "snapshotVersion") {
				t.Errorf("broken reload: %v", refused)
			}
			code, out := s.Command("extensions", "list", "--url", server.URL)
			if code != 0 || !strings.Contains(out, "@t/reviewer") || !strings.Contains(out, "1.1.0") {
				t.Errorf("list: %d %s", code, out)
			}
			code, out = s.Command("extensions", "reload", "--url", server.URL)
			if code != 1 || !strings.Contains(out, "import_failed") {
				t.Errorf("reload: %d %s", code, out)
			}
			code, out = s.Command("extensions", "check", filepath.Join(s.Workspace, "agents", "reviewer"))
			if code != 1 || !strings.Contains(out, "words.ts") {
				t.Errorf("check: %d %s", code, out)
			}
		})
	}
}

// EX-41: the server dies while a file change waits. The next server decides it, and dispatches the turn's end exactly
// once.
func TestFileChangeIsReconciledAfterAKill(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("DEFAULT_SANDBOX_MODE=read-only"))
	server := s.Start()
	project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
		"projectId")
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
	events := server.Follow("threadId=" + session)
	server.Send(session, "MOCK_PATCH[made.txt]")
	events.WaitType("approval")
	s.Extension("reviewer", map[string]string{"events.ts": reviewer, "extension.manifest.json": reviewerManifest("1.0.0"),
		"lib/words.ts": `export const note = (n: number): string => "later: " + n;`})
	server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	// The reload offers the extension the requests that were already waiting.
	if resolved := events.WaitType("approval_resolved").Decoded(); programtest.Text(resolved, "decision") != "accept" {
		t.Errorf("resolved %v", resolved)
	}
	events.Wait("the extension's note", func(f programtest.Frame) bool { return programtest.Text(f.Decoded(), "messageId") == "note-1" })
	server.Kill()
	again := s.Start()
	notes := 0
	for _, entry := range again.Transcript(session) {
		if programtest.Text(entry, "messageId") == "note-1" {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes after a kill", notes)
	}
}

// LC-11, LC-12, LC-15: a running server enforces roles, and records a refused attempt.
func TestExtensionRolesOfARunningServer(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("AGENT_EXTENSION_RBAC_MODE=header", "AGENT_EXTENSION_RBAC_HEADER_SECRET=shared-token"))
	server := s.Start()
	if got := server.Want(http.StatusUnauthorized, http.MethodPost, "/api/agents/extensions/reload", nil); programtest.Text(got,
		"code") != "missing_header_token" {
		t.Errorf("got %v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/api/agents/extensions/reload", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"X-Codex-Rbac-Token": {"shared-token"}, "X-Codex-Rbac-Role": {"owner"}}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer programtest.Object
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("got %d %v %v", response.StatusCode, answer, err)
	}
	if code, out := s.Command("extensions", "reload", "--url", server.URL, "--role", "member"); code != 1 ||
		!strings.Contains(out, "insufficient_role") {
		t.Errorf("as a member: %d %s", code, out)
	}
	if code, out := s.Command("extensions", "reload", "--url", server.URL); code != 0 ||
		!strings.Contains(out, "0 loaded") {
		t.Errorf("as an admin: %d %s", code, out)
	}
	started := time.Now()
	server.Stop()
	if took := time.Since(started); took > programtest.Slowness*10*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

// suggester answers requests for suggestions with a separate job.
const suggester = `
export function registerAgentEvents(registry) {
  registry.on("suggest_request.requested", async (event, tools) => {
    const p = event.payload;
    return tools.enqueueJob({ type: "suggest_request", projectId: p.projectId, sourceSessionId: p.sessionId,
      payload: { requestKey: p.requestKey, projectId: p.projectId, sourceSessionId: p.sessionId, draft: p.draft + "|" + p.userRequest } });
  });
}
`

// EX-16, EX-43, EX-44: the suggestion route asks extensions, and returns the job that one of them queues.
func TestExtensionQueuesASuggestion(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	s.Extension("suggester", map[string]string{"events.js": suggester})
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	events.WaitTurn(server.Send(session, "MOCK_REPLY[hello]"))
	got := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
		programtest.Object{"draft": "my draft"})
	job := server.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+programtest.Text(got, "jobId"), nil)
	if programtest.Text(job, "job", "projectId") != "session:"+session || programtest.Text(job, "job", "type") != "suggest_request" ||
		programtest.Text(got, "requestKey") == "" {
		t.Errorf("answered %v, job %v", got, job)
	}
}
