package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/api"
	"harness/internal/platform/database"
	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

const (
	owner    = "the-owners-token-of-this-test"
	patience = time.Minute
	// The ids below end with their project: a, b or none (n). "x" does not exist.
	projectA, projectB = "11111111-1111-7111-8111-00000000000a", "11111111-1111-7111-8111-00000000000b"
)

func id(kind, of string) string {
	return fmt.Sprintf("2222222%s-2222-7222-8222-00000000000%s", kind, of)
}

func sessionOf(of string) string { return id("1", of) }
func requestOf(of string) string { return id("2", of) }
func jobOf(of string) string     { return id("3", of) }

func projectOf(of string) string { return "11111111-1111-7111-8111-00000000000" + of }

// site is a server with two projects, and a session in each project and in none, each with an approval and a job.
type site struct {
	*programtest.Server
	t    *testing.T
	db   *database.DB
	site *programtest.Site
}

func start(t *testing.T, engine database.Engine) *site {
	t.Helper()
	installed := programtest.New(t, programtest.WithoutAgent(), programtest.WithEngine(engine),
		programtest.WithEnv("HARNESS_AUTH_TOKEN="+owner))
	installed.MustRun("migrate")
	db, err := database.Open(t.Context(), installed.Store())
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i, p := range []string{projectA, projectB} {
		rows = append(rows, fmt.Sprintf(`insert into projects (id, name, name_key, working_directory, created_at, updated_at)
			values ('%s', 'project %d', 'project %d', '/srv/%d', 1, 1)`, p, i, i, i))
	}
	for _, of := range []string{"a", "b", "n"} {
		project, owner := "'"+projectOf(of)+"'", projectOf(of)
		if of == "n" {
			project, owner = "null", "session:"+sessionOf(of)
		}
		rows = append(rows,
			fmt.Sprintf(`insert into sessions (id, runtime, runtime_session_id, node_id, project_id, title, name, cwd, source, model_provider,
				thread, system_owned, archived, created_at, updated_at) values ('%s', 'codex', '%s', 'n', %s, 'title of %[4]s',
				'title of %[4]s', '/', '', '', 'null', 0, 0, 1, 1)`, sessionOf(of), sessionOf(of), project, of),
			fmt.Sprintf(`insert into jobs (id, type, version, project_id, priority, state, dedupe_mode, payload, attempts, max_attempts,
				created_at, cancel_reason, node_id, owner, lease_until) values ('%s', 'suggest_request', 1, '%s', 'background', 'completed',
				'none', '{}', 0, 1, 1, '', '', '', 0)`, jobOf(of), owner))
	}
	store(t, db, rows)
	server := installed.Start()
	// Requests to the previous server have ended, so these start to wait now.
	rows = nil
	for _, of := range []string{"a", "b", "n"} {
		rows = append(rows,
			fmt.Sprintf(`insert into interactive_requests (id, kind, session_id, turn_id, item_id, method, summary, params, runtime,
				generation, native_id, node_id, status, reply, decided_by, created_at, settled_at) values ('%s', 'approval', '%s', 't', 'i',
				'm', 'asks of %s', '{}', 'codex', 'g', '%s', 'n', 'pending', '', '', 1, 0)`, requestOf(of), sessionOf(of), of, of),
		)
	}
	store(t, db, rows)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &site{Server: server, t: t, db: db, site: installed}
}

func store(t *testing.T, db *database.DB, rows []string) {
	t.Helper()
	for _, row := range rows {
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), row)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", row, err)
		}
	}
}

// ask sends a request with a token.
func (s *site) ask(token, method, path, body string) (status int, answer string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = response.Body.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// token creates a token of a role that is limited to projects.
func (s *site) token(name, role string, projects ...string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "role": role, "projects": projects})
	if err != nil {
		s.t.Fatal(err)
	}
	status, answer := s.ask(owner, http.MethodPost, "/api/tokens", string(body))
	if status != http.StatusOK {
		s.t.Fatalf("%d %s", status, answer)
	}
	return programtest.Decode[struct{ Secret string }](s.t, []byte(answer)).Secret
}

// A token limited to a project can access only that project, by any route. Lists omit all other objects, ids of other
// objects look unknown, and requests about objects without a project are refused.
func TestATokenLimitedToAProjectSeesNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t, database.SQLite)
	limited := s.token("limited", "admin", projectA)

	t.Run("lists", func(t *testing.T) {
		for path, want := range map[string]string{
			"/api/sessions": sessionOf("a"), "/api/projects": projectA, "/api/requests": requestOf("a"),
			"/v1/sessions": sessionOf("a"), "/api/projects/" + projectA + "/orchestrator/jobs": jobOf("a"), "/api/me": projectA,
			"/api/search?q=title": sessionOf("a"), "/api/search?q=title&project=" + projectB: `"data":[]`,
			"/api/search?q=title&session=" + sessionOf("n"): `"data":[]`,
		} {
			status, answer := s.ask(limited, http.MethodGet, path, "")
			if status != http.StatusOK || !strings.Contains(answer, want) || foreign(answer) {
				t.Errorf("%s: %d %s", path, status, answer)
			}
		}
		for method, params := range map[string]string{"session/list": `{}`, "workspace/list": `{}`, "permission/pending": `{}`,
			"workspace/get": `{"workspace_id":"` + projectA + `"}`} {
			status, answer := s.ask(limited, http.MethodPost, "/rpc", call(method, params))
			if status != http.StatusOK || !strings.Contains(answer, `"result"`) || !strings.Contains(answer, "00a") || foreign(answer) {
				t.Errorf("%s: %d %s", method, status, answer)
			}
		}
	})

	t.Run("ids", func(t *testing.T) {
		for _, c := range [][3]string{
			{http.MethodGet, "/api/sessions/{s}", ""}, {http.MethodDelete, "/api/sessions/{s}", ""},
			{http.MethodPost, "/api/sessions/{s}/transcript/upsert", `{"messageId":"m","turnId":"t","role":"user","type":"message","content":"c","status":"complete"}`},
			{http.MethodPost, "/api/sessions/{s}/messages", `{"text":"hello"}`}, {http.MethodPost, "/api/sessions/{s}/messages", `{}`},
			{http.MethodGet, "/api/sessions/{s}/approvals", ""}, {http.MethodPost, "/api/sessions/{s}/fork", ""},
			{http.MethodGet, "/api/projects/{p}/orchestrator/jobs", ""}, {http.MethodDelete, "/api/projects/{p}", ""},
			{http.MethodGet, "/api/projects/session:{s}/orchestrator/jobs", ""},
			{http.MethodPost, "/api/projects/{p}/rename", `{"name":"mine"}`},
			{http.MethodPost, "/api/approvals/{r}/decision", `{"decision":"accept"}`},
			{http.MethodGet, "/api/orchestrator/jobs/{j}", ""}, {http.MethodPost, "/api/orchestrator/jobs/{j}/cancel", ""},
			{http.MethodPost, "/api/sessions", `{"projectId":"{p}"}`},
			{http.MethodPost, "/api/sessions/" + sessionOf("a") + "/project", `{"projectId":"{p}"}`},
			{http.MethodGet, "/v1/sessions/{s}", ""}, {http.MethodGet, "/v1/sessions/{s}/events", ""},
			{http.MethodGet, "/agui/{s}", ""}, {http.MethodPost, "/agui/{s}", `{"messages":[{"role":"user","content":"hello"}]}`},
			{http.MethodPost, "/agui/new", `{"messages":[{"role":"user","content":"hello"}],"forwardedProps":{"projectId":"{p}"}}`},
			{http.MethodPost, "/v1/sessions/{s}/tasks", `{"messages":[{"role":"user","content":"hello"}]}`},
			{http.MethodPost, "/rpc", call("session/info", `{"session_id":"{s}"}`)},
			{http.MethodPost, "/rpc", call("session/send", `{"session_id":"{s}","prompt":"hello"}`)},
			{http.MethodPost, "/rpc", call("workspace/get", `{"workspace_id":"{p}"}`)},
			{http.MethodPost, "/rpc", call("session/start", `{"workspace_id":"{p}"}`)},
			{http.MethodPost, "/rpc", call("permission/respond", `{"tool_use_id":"{r}","decision":"allow"}`)},
		} {
			status, none := s.ask(limited, c[0], about(c[1], "x"), about(c[2], "x"))
			if status/100 == 2 && c[1] != "/rpc" || strings.Contains(none, `"result"`) {
				t.Errorf("%s %s %s of nothing: %d %s", c[0], c[1], c[2], status, none)
			}
			for _, of := range []string{"b", "n"} {
				if of == "n" && strings.Contains(c[1]+c[2], "{p}") {
					continue // no project is "none"
				}
				got, answer := s.ask(limited, c[0], about(c[1], of), about(c[2], of))
				if got != status || strings.ReplaceAll(answer, "0"+of, "0x") != none {
					t.Errorf("%s %s %s of %s: %d %s; of nothing: %d %s", c[0], c[1], c[2], of, got, answer, status, none)
				}
			}
		}
	})

	t.Run("every other operation", func(t *testing.T) {
		for _, operation := range api.Operations() {
			path := about(strings.NewReplacer("{sessionId}", "{s}", "{projectId}", "{p}", "{approvalId}", "{r}", "{requestId}", "{r}",
				"{jobId}", "{j}").Replace(operation.Path), "b")
			if strings.Contains(path, "{") {
				path = strings.NewReplacer("{", "", "}", "").Replace(path)
			}
			body := ""
			if operation.Method == http.MethodPost || operation.Method == http.MethodPatch {
				body = `{"decision":"accept"}`
			}
			status, answer := s.ask(limited, operation.Method, path, body)
			if foreign(answer) && !strings.Contains(path, "00b") {
				t.Errorf("%s %s shows others: %d %s", operation.Method, path, status, answer)
			}
			if status/100 == 2 && !openToLimited[operation.Path] {
				t.Errorf("%s %s: %d %.200s", operation.Method, path, status, answer)
			}
		}
	})

	t.Run("actor and role are on record", func(t *testing.T) {
		if status, answer := s.ask(limited, http.MethodPost, "/api/projects/"+projectA+"/rename", `{"name":"renamed"}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		var role, meta string
		for query, into := range map[string]*string{
			`select role from audit_log where kind = 'project_upserted' and actor = 'token:limited'`:                       &role,
			`select meta from journal_events where type = 'project_upserted' and actor = 'token:limited' and meta <> '{}'`: &meta,
		} {
			if err := s.db.Read().QueryRowContext(t.Context(), query).Scan(into); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		if role != "admin" || meta != `{"role":"admin"}` {
			t.Errorf("%q %q", role, meta)
		}
		if out := s.site.MustRun("audit", "verify"); !strings.Contains(out, "row") {
			t.Error(out)
		}
	})

	t.Run("an absent agent", func(t *testing.T) { // CO-23
		if _, answer := s.ask(owner, http.MethodGet, "/api/setup", ""); !strings.Contains(answer, `"codex","default":true,"state":"notInstalled"`) ||
			!strings.Contains(answer, `"command":"npm install -g @openai/codex`) {
			t.Error(answer)
		}
	})

	t.Run("what is there is untouched", func(t *testing.T) {
		for _, of := range []string{"a", "b", "n"} {
			if status, answer := s.ask(owner, http.MethodGet, "/v1/sessions/"+sessionOf(of), ""); status != http.StatusOK ||
				!strings.Contains(answer, "title of "+of) {
				t.Errorf("%s: %d %s", of, status, answer)
			}
		}
		if _, answer := s.ask(owner, http.MethodGet, "/api/projects", ""); !strings.Contains(answer, projectB) {
			t.Error(answer)
		}
		if _, answer := s.ask(owner, http.MethodGet, "/api/requests", ""); strings.Count(answer, "asks of") != 3 {
			t.Error(answer)
		}
	})
}

// openToLimited are the operations open to a token limited to projects. They show only objects within the limit.
var openToLimited = map[string]bool{"/api/login/methods": true,
	"/api": true, "/api/health": true, "/api/ready": true, "/readyz": true, "/healthz": true, "/api/docs": true,
	"/api/openapi.json": true, "/api/asyncapi.json": true, "/api/me": true, "/api/folders": true, "/api/push": true, "/api/worktrees": true, "/api/logout": true,
	"/api/sessions": true,
	"/api/projects": true, "/api/requests": true, "/rpc": true, "/rpc/openrpc.json": true, "/v1": true, "/v1/sessions": true,
}

func call(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// about fills in the ids of a project's objects.
func about(text, of string) string {
	return strings.NewReplacer("{s}", sessionOf(of), "{p}", projectOf(of), "{r}", requestOf(of), "{j}", jobOf(of)).Replace(text)
}

// foreign reports whether a text contains data of another project.
func foreign(text string) bool {
	for _, of := range []string{"b", "n"} {
		if strings.Contains(text, "00000000000"+of) {
			return true
		}
	}
	return false
}

// A socket with such a token gets only the events of sessions that are in its project at that time, live and by a
// cursor. The same applies to JSON-RPC sockets.
func TestASocketOfALimitedTokenGetsItsProjectAlone(t *testing.T) {
	t.Parallel()
	s := start(t, database.Postgres)
	limited := s.token("limited", "viewer", projectA)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	open := func(path string) *websocket.Conn {
		conn, _, err := websocket.Dial(ctx, s.URL+path, &websocket.DialOptions{HTTPHeader: http.Header{
			"Authorization": {"Bearer " + limited}}})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(1 << 20)
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn
	}
	// until reads up to a frame with a text, and fails on a frame of another project.
	until := func(conn *websocket.Conn, text string) {
		t.Helper()
		for {
			_, frame, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("waiting for %q: %v", text, err)
			}
			if foreign(string(frame)) && text != "ready" || strings.Contains(string(frame), "secret") {
				t.Errorf("got another project's event: %s", frame)
			}
			if strings.Contains(string(frame), text) {
				return
			}
		}
	}
	say := func(of, text string) {
		t.Helper()
		status, answer := s.ask(owner, http.MethodPost, "/api/sessions/"+sessionOf(of)+"/transcript/upsert",
			`{"messageId":"`+strings.ReplaceAll(text, " ", "-")+`","turnId":"t","role":"user","type":"user","content":"`+text+`","status":"complete"}`)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	move := func(of, to string) {
		t.Helper()
		if status, answer := s.ask(owner, http.MethodPost, "/api/sessions/"+sessionOf(of)+"/project", `{"projectId":`+to+`}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	live, followed := open("/api/stream"), open("/api/stream?threadId="+sessionOf("b"))
	until(live, "ready")
	until(followed, "ready")
	rpc := open("/rpc")
	if err := rpc.Write(ctx, websocket.MessageText, []byte(call("workspace/subscribeAll", "{}"))); err != nil {
		t.Fatal(err)
	}
	until(rpc, `"result"`)

	say("b", "secret one")
	say("n", "secret two")
	say("a", "first of mine")
	until(live, "first of mine")
	move("n", `"`+projectA+`"`) // from here on it belongs to this project
	say("n", "no longer nobodys")
	if _, frame, err := read(ctx, live, "no longer nobodys"); err != nil {
		t.Fatal(err)
	} else if !strings.Contains(frame, sessionOf("n")) {
		t.Error(frame)
	}
	move("a", `"`+projectB+`"`)
	say("a", "secret three")
	say("n", "the last")
	for {
		_, frame, err := live.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(frame), "secret") || strings.Contains(string(frame), sessionOf("a")) {
			t.Errorf("got an event of a session that was moved away: %s", frame)
		}
		if strings.Contains(string(frame), "the last") {
			break
		}
	}
	// A cursor returns the events that are within the limit now, and then nothing else.
	again := open("/api/stream?after=0")
	for {
		_, frame, err := again.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(frame), "secret one") || strings.Contains(string(frame), "secret three") ||
			strings.Contains(string(frame), projectB) || strings.Contains(string(frame), sessionOf("a")) {
			t.Errorf("replayed another project: %s", frame)
		}
		if strings.Contains(string(frame), "the last") {
			break
		}
	}
	if err := followed.Write(ctx, websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	for last := ""; !strings.Contains(last, "pong"); {
		_, frame, err := followed.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// A socket that follows all moves gets the move into its project.
		if last = string(frame); strings.Contains(last, "secret") || strings.Contains(last, sessionOf("b")) {
			t.Errorf("a socket that follows a session of another project gets %s", last)
		}
	}
	if err := rpc.Write(ctx, websocket.MessageText, []byte(call("session/watch", `{"session_id":"`+sessionOf("b")+`"}`))); err != nil {
		t.Fatal(err)
	}
	if _, frame, err := read(ctx, rpc, `"id":1`); err != nil || !strings.Contains(frame, `"error"`) {
		t.Errorf("watching a session of another project: %s %v", frame, err)
	}
}

// read reads up to a frame with a text.
func read(ctx context.Context, conn *websocket.Conn, text string) (websocket.MessageType, string, error) {
	for {
		kind, frame, err := conn.Read(ctx)
		if err != nil || strings.Contains(string(frame), text) {
			return kind, string(frame), err
		}
	}
}
