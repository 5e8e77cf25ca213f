package access

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/internal/services/bundle"
	"harness/internal/services/tasks"
	"harness/internal/services/tools/configured"
	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// unpack returns the files of a bundle, in order.
func unpack(t *testing.T, packed []byte) (names []string, files map[string][]byte) {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names, files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		names, files[header.Name] = append(names, header.Name), content
	}
}

// pack is the inverse of unpack.
func pack(t *testing.T, names []string, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	for _, name := range names {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// canaries returns secrets of twelve kinds and more, each with the part of it that must not appear.
func canaries() map[string][2]string {
	return map[string][2]string{
		"openai":    {"sk-proj-canary01ABCDEFGHIJKLMNOP", "canary01ABCDEF"},
		"anthropic": {"sk-ant-api03-canary02abcdefghijk", "canary02abcdef"},
		"github":    {"ghp_canary03abcdefghijklmnop", "canary03abcdef"},
		"aws key":   {"AKIACANARYAAAAAAAA04", "CANARYAAAAAAAA04"},
		"aws":       {"AWS_SECRET_ACCESS_KEY=canary05/abc+def", "canary05/abc"},
		"google":    {"AIzaCanary06abcdefghijklmnopqrstuvwxyz0", "Canary06abcdef"},
		"slack":     {"xoxb-11-canary07abcdef", "canary07abcdef"},
		"jwt":       {"eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkwOCI6InllcyJ9.c2lnbmF0dXJl", "eyJjYW5hcnkwOCI6InllcyJ9"},
		"bearer":    {"Authorization: Bearer canary09.abc-def", "canary09.abc"},
		"url":       {"postgres://app:canary10abc@db.example.com/app", "canary10abc"},
		"pem":       {"-----BEGIN PRIVATE KEY-----\ncanary11abc\ncanary11def\n-----END PRIVATE KEY-----", "canary11"},
		"json":      {`{"client_secret":"canary12-abc"}`, "canary12-abc"},
		"password":  {"DB_PASSWORD=canary13abc", "canary13abc"},
		"cookie":    {"Set-Cookie: session=canary14abc", "canary14abc"},
	}
}

// OB-04, OB-05, OB-06, OB-07, OB-08, OB-09, OB-10, OB-11, EV-26, EV-32: the bundle of a session of the real codex is
// complete. It has none of the secrets planted in messages, files, results, artifacts, settings and the environment.
// Its replay gives the same events, and the replay of a changed bundle does not.
func TestASupportBundleReplaysAndHasNoSecret(t *testing.T) {
	t.Parallel()
	const own, env = "canary-own-token-0123456789", "canary-of-the-environment"
	temporary := t.TempDir()
	s := programtest.New(t, programtest.WithEnv("TMPDIR="+temporary, "HARNESS_TOOLS=workspace.read,workspace.write", "HARNESS_AUTH_TOKEN="+own,
		"SOME_SERVICE_TOKEN="+env, "HARNESS_TOKEN="+own,
		`HARNESS_TOOLS_SERVERS={"near":{"ways":[{"url":"http://127.0.0.1:1"},{"command":["`+os.Args[0]+`"],"env":{"HARNESS_TEST_RUN_AS_MCP":"1"}}]}}`))
	var all []string
	for _, canary := range canaries() {
		all = append(all, canary[0])
	}
	slices.Sort(all)
	// Long enough to become an artifact.
	leak := strings.Join(all, "\n") + "\n" + env + "\n" + strings.Repeat("nothing secret here\n", 1000)
	if err := os.WriteFile(filepath.Join(s.Workspace, "leak.txt"), []byte(leak), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Workspace, "short.txt"), []byte(strings.Join(all, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	server := s.Start()
	run := func(args ...string) (int, string) {
		t.Helper()
		return s.Command(append(args, "--url", server.URL)...)
	}
	ask := func(method, path string, body any) programtest.Object {
		t.Helper()
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+own)
		request.Header.Set("Content-Type", "application/json")
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var answer programtest.Object
		err = json.NewDecoder(response.Body).Decode(&answer)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %v %v", method, path, response.StatusCode, answer, err)
		}
		return answer
	}
	session := programtest.Text(ask(http.MethodPost, "/v1/sessions", programtest.Object{"permission_mode": "auto", "cwd": s.Workspace,
		"native_tools": "on"}),
		"session_id")
	base := "/v1/sessions/" + session
	task := func(id, message string) {
		t.Helper()
		ask(http.MethodPost, base+"/tasks", programtest.Object{"task_id": id, "messages": []programtest.Object{{"role": "user", "content": message}}})
		server.Eventually("the task "+id+" is over", func() bool {
			return slices.Contains([]string{"completed", "failed", "stopped"},
				programtest.Text(ask(http.MethodGet, base+"/tasks/"+id, nil), "status"))
		})
	}
	task("says", "MOCK_REPLY[fine] Remember: "+strings.Join(all, " "))
	task("reads", programtest.OwnedTool("workspace_read", `{"path":"leak.txt"}`)+programtest.OwnedTool("workspace_read", `{"path":"short.txt"}`))
	task("runs", "MOCK_CMD[cat short.txt; exit 3]")

	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if code, said := run("bundle", session, "--task", "reads", "-f", path); code != 0 || !strings.Contains(said, path) {
		t.Fatalf("harness bundle ended with %d: %s", code, said)
	}
	if code, said := run("bundle", session, "-f", path); code == 0 {
		t.Errorf("the file was written over: %s", said)
	}
	if code, said := run("bundle", "no-session", "-f", path+"2"); code == 0 ||
		!strings.Contains(said, "session_not_found") {
		t.Errorf("the bundle of no session: %d %s", code, said)
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, files := unpack(t, packed)
	for _, name := range []string{"health.json", "capabilities.json", "versions.json", "configuration.json", "mcp.json",
		"session.json",
		"tasks.json", "events.jsonl", "records.jsonl", "transcript.json", "tool-transcripts.json", "audit.jsonl", "manifest.json"} {
		if len(files[name]) < 3 {
			t.Errorf("%s is %q", name, files[name])
		}
	}
	for name, content := range files {
		for kind, canary := range canaries() {
			if bytes.Contains(content, []byte(canary[1])) {
				at := bytes.Index(content, []byte(canary[1]))
				t.Errorf("%s has the secret of kind %s: ...%s", name, kind, content[max(0, at-80):at+20])
			}
		}
		for _, secret := range []string{own, env} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s has %s", name, secret)
			}
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(content) {
			t.Errorf("%s is no JSON: %.300s", name, content)
		}
	}
	var manifest bundle.Manifest
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || manifest.TaskID != "reads" ||
		manifest.Redacted < 30 ||
		len(manifest.Artifacts) == 0 || manifest.Artifacts[0].Skipped != "" {
		t.Errorf("the manifest is %+v (%v)", manifest, err)
	}
	var calls []bundle.Transcript
	if err := json.Unmarshal(files["tool-transcripts.json"], &calls); err != nil || len(calls) != 3 {
		t.Fatalf("the calls are %s (%v)", files["tool-transcripts.json"], err)
	}
	var spoken []tasks.Said
	if err := json.Unmarshal(files["transcript.json"], &spoken); err != nil || spoken[0].Role != "user" ||
		bytes.Count(files["transcript.json"], []byte(`"tool_use"`)) != len(calls) ||
		bytes.Count(files["transcript.json"], []byte(`"tool_result"`)) != len(calls) {
		t.Errorf("what was said is %s (%v)", files["transcript.json"], err)
	}
	if ran := calls[2]; string(ran.ExitCode) != "3" || !ran.IsError || ran.Name != "runtime.command_execution" {
		t.Errorf("the command is recorded as %+v", ran)
	}
	for _, want := range []string{`"model":"`, `"request_id":"`, `"runtime_session_id":"`} {
		if !bytes.Contains(files["events.jsonl"], []byte(want)) {
			t.Errorf("of the runtime the bundle does not say %s", want)
		}
	}
	for _, want := range []string{`"HARNESS_TOOLS"`, `[redacted]`} {
		if !bytes.Contains(files["configuration.json"], []byte(want)) {
			t.Errorf("the configuration is %s", files["configuration.json"])
		}
	}
	var mcp struct{ Reached []configured.Reached }
	if err := json.Unmarshal(files["mcp.json"], &mcp); err != nil || len(mcp.Reached) != 1 || mcp.Reached[0].Way != 2 ||
		mcp.Reached[0].Transport != "stdio" || len(mcp.Reached[0].Failed) != 1 {
		t.Errorf("MCP servers are reached %+v (%v)", mcp.Reached, err)
	}
	if !bytes.Contains(files["mcp.json"], []byte("workspace.read")) ||
		!bytes.Contains(files["versions.json"], []byte("0.1")) {
		t.Errorf("mcp is %s, versions are %.300s", files["mcp.json"], files["versions.json"])
	}

	requireFacts(t, ask(http.MethodGet, "/api/runtimes/codex", nil), files)

	code, said := s.Command("replay", path)
	if code != 0 || !strings.Contains(said, ", 0 differ") || strings.Contains(said, "(0 messages)") ||
		strings.HasPrefix(said, "note: no message") {
		t.Errorf("the replay ended with %d: %s", code, said)
	}
	changed := bytes.Replace(files["events.jsonl"], []byte(`"type":"task.completed"`), []byte(`"type":"task.failed"`), 1)
	for what, content := range map[string][]byte{"an event changed": changed,
		"the last event missing": files["events.jsonl"][:bytes.LastIndexByte(bytes.TrimSpace(files["events.jsonl"]),
			'\n')+1]} {
		other := map[string][]byte{}
		for name := range files {
			other[name] = files[name]
		}
		other["events.jsonl"] = content
		broken := filepath.Join(t.TempDir(), "broken.tar.gz")
		if err := os.WriteFile(broken, pack(t, names, other), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, said := s.Command("replay", broken); code != 1 || !strings.Contains(said, "  replay: ") {
			t.Errorf("%s: the replay ended with %d: %s", what, code, said)
		}
	}
	if err := os.WriteFile(path, packed[:len(packed)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := s.Command("replay", path); code != 1 || !strings.Contains(said, "cut off") {
		t.Errorf("half a bundle: %d %s", code, said)
	}
	server.Stop()
	server = s.Start()
	again := ask(http.MethodGet, base+"/events", nil)["events"].([]any)
	if lines := bytes.Count(files["events.jsonl"], []byte("\n")); len(again) != lines {
		t.Errorf("the next server has %d events of %d", len(again), lines)
	}
	var whole strings.Builder // of all artifacts, including what the agent read
	for _, one := range manifest.Artifacts {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/artifacts/"+one.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+own)
		whole.WriteString(server.Show(request))
	}
	if !strings.Contains(whole.String(), "nothing secret here") {
		t.Errorf("the next server has of the artifacts %.200s", whole.String())
	}
	server.Stop()
	if left, err := filepath.Glob(filepath.Join(temporary, "harness-bundle-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %s (%v)", fmt.Sprint(left), err)
	}
}

// OB-10, EV-32: the bundle contains the output of the real Claude Code. Translating it again gives the same events,
// and a changed line does not.
func TestWhatClaudeCodeWroteIsReplayed(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	server := s.Start()
	server.AwaitRuntime()
	requireReplayed(s, server, server.ClaudeSession())
}

// OB-10, EV-32: the same for the output of the real OpenCode.
func TestWhatOpenCodeWroteIsReplayed(t *testing.T) {
	t.Parallel()
	s := programtest.WithOpenCode(t)
	s.Env = append(s.Env, "HARNESS_KEEP_NATIVE=all") // then the journal and the bundle have all lines
	server := s.Start()
	server.AwaitRuntime()
	requireReplayed(s, server, server.CreateSession(programtest.Object{"runtime": "opencode", "networkAccess": "enabled"}))
}

// OB-10, EV-32: the same for the output of an agent of the Agent Client Protocol.
func TestWhatAnACPAgentWroteIsReplayed(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,gemini", "GEMINI_BIN="+agenttest.Binary(t, "gemini"),
		"GEMINI_API_KEY=key-of-gemini", "GOOGLE_GEMINI_BASE_URL="+s.Model.Root(), programtest.StartTimeout)
	server := s.Start()
	server.AwaitRuntime()
	requireReplayed(s, server, server.CreateSession(programtest.Object{"runtime": "gemini", "networkAccess": "enabled"}))
}

// requireReplayed runs two turns in a session. It replays the session's bundle unchanged and with a changed message.
func requireReplayed(s *programtest.Site, server *programtest.Server, session string) {
	t := s.T
	t.Helper()
	events := server.Follow("threadId=" + session)
	for _, words := range []string{"fine words", "more of them"} {
		if status := events.WaitTurn(server.Send(session, "MOCK_REPLY["+words+"]")); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
	}
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if code, said := s.Command("bundle", session, "--url", server.URL, "-f", path); code != 0 {
		t.Fatalf("harness bundle ended with %d: %s", code, said)
	}
	server.Stop()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, files := unpack(t, packed)
	if !bytes.Contains(files["native.jsonl"], []byte("fine wor")) {
		t.Fatalf("native lines are %.500s", files["native.jsonl"])
	}
	replayed := func(path string) (int, bundle.Result) {
		t.Helper()
		code, said := s.Command("replay", "--json", path)
		var result bundle.Result
		if err := json.NewDecoder(strings.NewReader(said)).Decode(&result); err != nil {
			t.Fatalf("%d %s: %v", code, said, err)
		}
		return code, result
	}
	code, whole := replayed(path)
	if code != 0 || len(whole.Differences) != 0 || len(whole.Notes) != 0 || whole.Messages != 2 {
		t.Errorf("the replay ended with %d: %+v", code, whole)
	}
	files["native.jsonl"] = bytes.ReplaceAll(files["native.jsonl"], []byte("fine wor"), []byte("other wor")) // agents send it in parts
	changed := filepath.Join(t.TempDir(), "changed.tar.gz")
	if err := os.WriteFile(changed, pack(t, names, files), 0o600); err != nil {
		t.Fatal(err)
	}
	code, differs := replayed(changed)
	if code != 1 || len(differs.Differences) != 1 || differs.Lines != whole.Lines ||
		differs.Differences[0].Bundle != "fine words" || differs.Differences[0].Replay != "other words" {
		t.Errorf("with a changed line it ended with %d: %+v", code, differs)
	}
	// Without the agent's output, the replay reports that it compared none of it.
	files["native.jsonl"] = nil
	if err := os.WriteFile(changed, pack(t, names, files), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := s.Command("replay", changed); code != 0 ||
		!strings.Contains(said, "note: 0 of 2 messages of the agent were compared") {
		t.Errorf("without the agent's lines it ended with %d: %s", code, said)
	}
}

// requireFacts: OB-04, OB-05, OB-07: a bundle has the same facts about the runtime as the server.
func requireFacts(t *testing.T, shown programtest.Object, files map[string][]byte) {
	t.Helper()
	var (
		able     map[string]programtest.Object
		versions struct {
			Harness, Go, Contract string
			Runtimes              map[string]string
		}
		mcp struct {
			Supported map[string]string
			Chosen    string
		}
		health struct{ Runtimes []struct{ Name string } }
	)
	for name, into := range map[string]any{"capabilities": &able, "versions": &versions, "mcp": &mcp, "health": &health} {
		if err := json.Unmarshal(files[name+".json"], into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	capabilities, _ := shown["capabilities"].(programtest.Object)
	if len(capabilities) < 5 || !reflect.DeepEqual(able["codex"], capabilities) {
		t.Errorf("the bundle says of codex %v, the server %v", able["codex"], capabilities)
	}
	if version := programtest.Text(shown, "version"); version == "" || versions.Runtimes["codex"] != version || versions.Harness == "" ||
		versions.Go == "" || versions.Contract != tasks.ContractVersion {
		t.Errorf("the versions are %+v, codex is %s", versions, version)
	}
	if way := programtest.Text(capabilities, "ownedTools"); way == "" || mcp.Supported["codex"] != way || mcp.Chosen != way {
		t.Errorf("tools reach codex by %q, the bundle has %+v", way, mcp)
	}
	if len(health.Runtimes) == 0 || health.Runtimes[0].Name != "codex" {
		t.Errorf("the health is of %+v", health.Runtimes)
	}
}
