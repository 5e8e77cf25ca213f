package codexmanager_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/services/codexmanager"
	"harness/tests/contract"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

type object = map[string]any

// The stored data of a codex-manager reads the same here as from the codex-manager itself after a restart.
func TestARecordedDirectoryIsReadAsTheOriginalReadsIt(t *testing.T) {
	t.Parallel()
	site := programtest.New(t, programtest.WithoutAgent())
	folder, err := filepath.Abs("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	site.MustRun("import", "codex-manager", folder)
	server := site.Start()
	records, err := contract.Load("persistence-restart")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, record := range records {
		if record.Method != http.MethodGet {
			continue
		}
		switch record.Name {
		case "session after", "fresh after (never materialized)", "projects", "settings", "controls fresh", "jobs":
		default:
			continue
		}
		compared++
		var want object
		if err := json.Unmarshal([]byte(record.ResponseBody), &want); err != nil {
			t.Fatal(err)
		}
		got := programtest.Get[object](server, record.Path)
		if session, is := want["session"].(object); is { // codex serves the rest of it
			for _, key := range []string{"sessionId", "title", "approvalPolicy", "sessionControls", "createdAt", "updatedAt",
				"projectId"} {
				same(t, record.Name+": "+key, got["session"].(object)[key], session[key])
			}
			same(t, record.Name+": transcript", got["transcript"], want["transcript"])
			continue
		}
		for key, value := range want {
			same(t, record.Name+": "+key, got[key], value)
		}
	}
	if compared != 6 {
		t.Errorf("%d answers were compared", compared)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %s, want %s", what, encode(t, got), encode(t, want))
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// made is a data directory of many sessions, with the original's responses for them.
type made struct {
	folder   string
	sessions []string
	reads    map[string]object // by session
	jobs     map[string]object
	projects int
}

const entriesOfEach = 6

// makeDirectory writes a directory like a codex-manager does, and the expected entries, by the recorded rules.
func makeDirectory(t *testing.T, sessions int) made {
	t.Helper()
	m := made{folder: t.TempDir(), reads: map[string]object{}, jobs: map[string]object{}, projects: 10}
	titles, projectOf, policies, controls, timing := object{}, object{}, object{}, object{}, object{}
	projects, threads, owned := object{}, object{}, object{}
	var jobs []object
	var ids []string
	for n := range m.projects {
		id := uuid.NewString()
		ids = append(ids, id)
		projects[id] = object{"name": fmt.Sprint("Project ", n), "workingDirectory": nil,
			"createdAt": "2026-03-01T10:00:00.123Z", "updatedAt": "2026-03-02T10:00:00.000Z"}
	}
	// old jobs are removed at once
	at := func(ago time.Duration) string { return javascript.ISOTime(time.Now().Add(-ago).UnixMilli()) }
	sequence := 0
	for n := range sessions {
		id := uuid.Must(uuid.NewV7()).String()
		m.sessions = append(m.sessions, id)
		titles[id], policies[id] = fmt.Sprint("Chat ", n), "untrusted"
		own := object{"model": nil, "approvalPolicy": "on-request", "networkAccess": "enabled",
			"filesystemSandbox": "workspace-write",
			"settings":          object{"n": float64(n), "nested": object{"a": []any{true, nil, "x"}}}}
		controls[id] = own
		projectID := any(nil)
		if n%2 == 0 {
			projectID = ids[n%len(ids)]
			projectOf[id] = projectID
		}
		turn := uuid.NewString()
		timing[id] = object{turn: object{"startedAt": 1795224951000, "completedAt": 1795224953000}}
		var stored, read []any
		add := func(entry, shown object) {
			sequence++
			stored = append(stored, object{"sequence": sequence, "entry": entry})
			both := object{}
			for _, from := range []object{entry, shown} {
				for key, value := range from {
					both[key] = value
				}
			}
			read = append(read, both)
		}
		add(object{"messageId": "u", "turnId": turn, "role": "user", "type": "userMessage",
			"content": fmt.Sprint("question ", n), "status": "complete", "startedAt": 1795224951162.0,
			"completedAt": 1795224951171.0},
			object{"startedAt": 1795224951000.0, "completedAt": 1795224953000.0})
		add(object{"messageId": "c", "turnId": turn, "role": "system", "type": "commandExecution",
			"content": "Command execution inProgress: ls", "details": "{\n  \"a\": \"\u2028<é>\"\n}", "status": "streaming",
			"startedAt": 1795224952000.0},
			object{"status": "complete", "startedAt": 1795224951000.0, "completedAt": 1795224953000.0})
		add(object{"messageId": "approval-" + id, "turnId": turn, "role": "system", "type": "approval.resolved",
			"content": "Approved", "status": "complete", "startedAt": 1795224952500.0, "completedAt": 1795224952600.0}, nil)
		add(object{"messageId": "a", "turnId": turn, "role": "assistant", "type": "agentMessage",
			"content": strings.Repeat("answer ", 50), "status": "complete", "startedAt": 1795224952700.0,
			"completedAt": 1795224954000.0},
			object{"startedAt": 1795224951000.0, "completedAt": 1795224954000.0})
		add(object{"messageId": "ci", "turnId": "ci", "role": "system", "type": "note", "content": "seconds",
			"status": "streaming", "startedAt": 1700000000.0}, object{"startedAt": 1700000000000.0})
		add(object{"messageId": "err", "turnId": "ci", "role": "system", "type": "note", "content": "", "status": "error"},
			nil)
		threads[id] = stored
		m.reads[id] = object{"title": titles[id], "approvalPolicy": "on-request", "sessionControls": own,
			"projectId": projectID, "transcript": read}
		if n%10 == 0 {
			job := object{"id": uuid.NewString(), "type": "agent_instruction", "version": 1.0, "projectId": "session:" + id,
				"sourceSessionId": id, "priority": "interactive", "state": "completed", "dedupeKey": "k",
				"payload": object{"agent": "x", "n": 1.0}, "result": object{"status": "ok"}, "error": nil, "attempts": 1.0,
				"maxAttempts": 2.0, "createdAt": at(3 * time.Hour), "startedAt": at(2 * time.Hour), "completedAt": at(time.Hour),
				"cancelRequestedAt": nil, "nextAttemptAt": nil, "lastAttemptAt": at(2 * time.Hour),
				"runningContext": object{"threadId": nil, "turnId": nil}}
			jobs, m.jobs[id] = append(jobs, job), job
		}
	}
	threads[uuid.NewString()] = []any{object{"sequence": 1, "entry": object{"messageId": "of a deleted session"}}}
	for name, content := range map[string]object{
		"session-metadata.json": {"titles": titles, "projects": projects, "sessionProjectById": projectOf,
			"sessionApprovalPolicyById": policies, "sessionControlsById": controls, "projectAgentSessionByKey": object{},
			"defaultSessionControls": object{"model": "m", "approvalPolicy": "never", "networkAccess": "restricted",
				"filesystemSandbox": "read-only", "settings": object{}},
			"systemOwnedSessionIds": owned, "turnTimingBySessionId": timing},
		"supplemental-transcript.json": {"version": 1, "sequence": sequence, "byThreadId": threads},
		"orchestrator-jobs.json":       {"version": 1, "jobs": jobs},
	} {
		if err := os.WriteFile(filepath.Join(m.folder, name), encode(t, content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// A directory of 1,000 sessions on both engines: a dry run stores nothing, every read of an imported session matches
// the original's, and a second import changes nothing.
func TestADirectoryOfAThousandSessions(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			sessions := 1000
			if engine == database.Postgres {
				sessions = 100 // the statements are the same
			}
			m := makeDirectory(t, sessions)
			site := programtest.New(t, programtest.WithoutAgent(), programtest.WithEngine(engine))
			if engine == database.Postgres {
				site.MustRun("migrate")
			}
			want := codexmanager.Report{DryRun: true, Projects: codexmanager.Count{New: m.projects},
				Sessions: codexmanager.Count{New: sessions}, Entries: sessions * entriesOfEach, Defaults: true,
				Jobs: codexmanager.Count{New: len(m.jobs)}}
			run := func(args ...string) {
				t.Helper()
				var got codexmanager.Report
				if err := json.Unmarshal(
					[]byte(site.MustRun(append([]string{"import", "codex-manager", m.folder, "--json"}, args...)...)), &got); err != nil {
					t.Fatal(err)
				}
				if len(got.Left) != 1 || !strings.Contains(got.Left[0], "1 sessions of which there is no title") {
					t.Errorf("left: %q", got.Left)
				}
				got.Left = nil
				same(t, "the report", got, want)
			}
			run("--dry-run")
			want.DryRun = false
			run()
			want.Projects, want.Sessions, want.Jobs = codexmanager.Count{Had: m.projects}, codexmanager.Count{Had: sessions},
				codexmanager.Count{Had: len(m.jobs)}
			want.Entries, want.Defaults = 0, false
			run()
			want.DryRun = true
			run("--dry-run")

			server := site.Start()
			if code, _, output := site.Run("import", "codex-manager", m.folder); code == 0 ||
				!strings.Contains(output, "already using") {
				t.Errorf("imported below a running server: %d %s", code, output)
			}
			for _, id := range m.sessions {
				got := programtest.Get[object](server, "/api/sessions/"+id)
				for key, value := range m.reads[id] {
					from := got
					if key != "transcript" {
						from = got["session"].(object)
					}
					same(t, id+" "+key, from[key], value)
				}
			}
			for id, job := range m.jobs {
				got := programtest.Get[object](server, "/api/projects/session:"+id+"/orchestrator/jobs")
				same(t, "the jobs of "+id, got["data"], []any{job})
			}
			if t.Failed() {
				return
			}
			status, answer, err := server.Try(http.MethodPost, "/api/sessions/"+m.sessions[0]+"/transcript/upsert",
				object{"messageId": "new",
					"turnId": "ci", "role": "system", "type": "note", "content": "after", "status": "complete"})
			if err != nil || status != http.StatusOK {
				t.Errorf("an upsert after the import: %d %s %v", status, answer, err)
			}
		})
	}
}

// The error names an unreadable file, and nothing is stored.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if _, err := codexmanager.Read(t.TempDir(), ""); !errors.Is(err, codexmanager.ErrNoDirectory) {
		t.Errorf("an empty folder: %v", err)
	}
	for name, text := range map[string]string{"session-metadata.json": `{"titles":`,
		"supplemental-transcript.json": `{"version":2}`,
		"orchestrator-jobs.json":       `[]`} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := codexmanager.Read(folder, ""); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
