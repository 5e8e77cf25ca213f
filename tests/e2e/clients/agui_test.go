package clients

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// aguiProgram returns AG-UI's own client as a program.
func aguiProgram(t *testing.T) func(input string, args ...string) string {
	t.Helper()
	made, dir := generators(t), t.TempDir()
	program, err := os.ReadFile(filepath.Join("testdata", "agui", "run.mjs"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "run.mjs"), program, 0o600)
	}
	if err == nil {
		err = os.Symlink(filepath.Join(made, "node_modules"), filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(input string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "node", append([]string{"run.mjs"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		said, err := cmd.Output()
		if err != nil {
			t.Errorf("AG-UI's client %q: %v\n%s", args, err, said)
		}
		return string(said)
	}
}

// ran is what AG-UI's client saw of a run.
type ran struct {
	Events   []string
	Failed   string
	State    struct{ Waiting []string }
	Messages []struct {
		Role    string
		Content any
	}
}

// AG-07: AG-UI's own client accepts the order of every run: a message, reasoning, a command that a person approved over
// REST, an interrupted turn and a failed one.
func TestAGUIsClientRunsSessions(t *testing.T) {
	t.Parallel()
	program := aguiProgram(t)
	s := programtest.New(t)
	server := s.Start(webUIOrigins)
	server.WaitRuntime()
	run := func(session, message string, during func()) (r ran) {
		t.Helper()
		said := make(chan string)
		go func() { said <- program("", server.URL+"/agui/"+session, message, "run-"+message) }()
		during()
		if err := json.Unmarshal([]byte(<-said), &r); err != nil {
			t.Errorf("%s: %v", message, err)
		}
		return r
	}
	want := func(r ran, failed string, kinds ...string) {
		t.Helper()
		got := strings.Join(slices.Compact(r.Events), " ")
		for _, kind := range kinds {
			if !strings.Contains(got, kind) {
				t.Errorf("the events are %s, without %s", got, kind)
			}
		}
		if failed == "" && r.Failed != "" || !strings.Contains(r.Failed, failed) || len(r.State.Waiting) > 0 {
			t.Errorf("it ends %q, with %v", r.Failed, r.State)
		}
	}
	none := func() {}
	want(run("new", "MOCK_REASON MOCK_REPLY[hello]", none), "", "RUN_STARTED STATE_SNAPSHOT",
		"REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_END",
		"TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END", "RUN_FINISHED")
	session := server.CreateSession(nil)
	file := filepath.Join(s.Workspace, "made")
	approved := run(session, "MOCK_CMD[touch "+file+"]", func() {
		server.Eventually("the command is asked about", func() bool { return len(server.Approvals(session)) > 0 })
		server.Decide(programtest.Text(server.Approvals(session)[0], "approvalId"))
	})
	want(approved, "", "CUSTOM STATE_DELTA", "TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_FINISHED")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	interrupted := run(session, "MOCK_HOLD[a]", func() {
		if err := s.Model.WaitHeld(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		server.Eventually("the turn shows", func() bool { // codex may ask its model before it names the turn
			return programtest.Get[struct{ Session struct{ ActiveTurnID string } }](server, "/api/sessions/"+session+"?limit=1").
				Session.ActiveTurnID != ""
		})
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
	})
	want(interrupted, "", "RUN_STARTED", "RUN_FINISHED")
	want(run(session, "MOCK_HTTP_400", none), "mock model fails", "RUN_STARTED", "RUN_ERROR")
	if count := len(approved.Messages); count < 3 || approved.Messages[0].Role != "user" {
		t.Errorf("the client has the messages %v", approved.Messages)
	}
	copilotKitRunsASession(t, s, server)
}

// aguiEvent is an event as sent.
type aguiEvent struct {
	id   string
	data json.RawMessage
}

// readAGUI reads events until one contains a text, and what the connection has after that.
func readAGUI(t *testing.T, lines *bufio.Scanner, until string) (all []aguiEvent) {
	t.Helper()
	one := aguiEvent{}
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); {
		case name == "id":
			one.id = value
		case name == "data":
			one.data = json.RawMessage(value)
		case name == "" && one.data != nil:
			all = append(all, one)
			if strings.Contains(string(one.data), until) {
				return all
			}
			one = aguiEvent{}
		}
	}
	t.Fatalf("the stream ended before %s: %d events, %v", until, len(all), lines.Err())
	return nil
}

// AG-08: after `kill -9` of the server in a streamed text, Last-Event-ID continues the run: nothing is lost or said twice.
func TestAGUIStreamsOutliveTheServer(t *testing.T) {
	t.Parallel()
	program := aguiProgram(t)
	s := programtest.New(t)
	server := s.Start()
	server.WaitRuntime()
	session := server.CreateSession(nil)
	open := func(method, last string, body string) (*bufio.Scanner, func()) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/agui/"+session, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if last != "" {
			request.Header.Set("Last-Event-ID", last)
		}
		answer, err := server.Client().Do(request)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", method, answer, err)
		}
		return bufio.NewScanner(answer.Body), func() { _ = answer.Body.Close() }
	}
	lines, end := open(http.MethodPost, "", `{"runId":"r","messages":[{"role":"user","content":"MOCK_SLOW[20,20] MOCK_HOLD[late]"}]}`)
	seen := readAGUI(t, lines, "word9")
	end()
	server.Kill()
	server = s.Start()
	s.Model.Release("late")
	lines, end = open(http.MethodGet, seen[len(seen)-1].id, "")
	seen = append(seen, readAGUI(t, lines, "RUN_FINISHED")...)
	end()
	lines, end = open(http.MethodGet, "", "")
	whole := readAGUI(t, lines, "RUN_FINISHED")
	end()
	said := func(events []aguiEvent) (text string) {
		for _, one := range events {
			var of struct{ Type, Delta string }
			if json.Unmarshal(one.data, &of) == nil && of.Type == "TEXT_MESSAGE_CONTENT" {
				text += of.Delta
			}
		}
		return text
	}
	if got, all := said(seen), said(whole); got != all || !strings.HasSuffix(strings.TrimSpace(got), "released late") ||
		strings.Count(got, "word9 ") != 1 {
		t.Errorf("the client has %q, the whole run says %q", got, all)
	}
	var events []json.RawMessage
	for i, one := range seen {
		events = append(events, one.data)
		if i > 0 && len(one.id) == len(seen[i-1].id) && one.id <= seen[i-1].id {
			t.Errorf("event %s follows %s", one.id, seen[i-1].id)
		}
	}
	if checked := program(programtest.Encoded(t, events), "verify"); !strings.Contains(checked, "checked") {
		t.Errorf("AG-UI's client refuses the order: %s", checked)
	}
}

// AG-09: a server that does not serve AG-UI has none of its routes.
func TestAGUIIsServedOnRequestOnly(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv("HARNESS_DOORS=app-server")).Start()
	for method, path := range map[string]string{http.MethodPost: "/agui/new", http.MethodGet: "/agui/any"} {
		if answer := server.Want(http.StatusNotFound, method, path, nil); !strings.Contains(programtest.Text(answer, "message"), "Route "+method) {
			t.Errorf("%s %s is answered %v", method, path, answer)
		}
	}
}
