package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/programtest"
)

var origin = regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+$`)

// codesdkd starts the server like embedding programs do, in a separate data directory, and returns it with its output
// after the first line.
func codesdkd(s *programtest.Site, args ...string) (*programtest.Server, <-chan string) {
	s.T.Helper()
	cmd := exec.Command(s.Program, append([]string{"codesdkd"}, args...)...)
	for _, set := range s.Environ() {
		name, _, _ := strings.Cut(set, "=")
		if !slices.Contains([]string{"PORT", "DATA_DIR", "DATABASE_URL"}, name) {
			cmd.Env = append(cmd.Env, set)
		}
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	i := &programtest.Server{Site: s, Cmd: cmd, Ready: make(chan string, 1), Exited: make(chan struct{})}
	first, more := make(chan string, 1), make(chan string, 1)
	go func() {
		defer close(i.Exited)
		logged := make(chan struct{})
		go func() {
			defer close(logged)
			i.ReadLog(stderr)
		}()
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		first <- line
		rest, _ := io.ReadAll(lines)
		more <- string(rest)
		<-logged
		_ = cmd.Wait()
	}()
	s.T.Cleanup(func() {
		i.Kill()
		if s.T.Failed() {
			s.T.Logf("server log:\n%s", i.LogTail())
		}
	})
	select {
	case line := <-first:
		var said programtest.Object
		if err := json.Unmarshal([]byte(line), &said); err != nil || len(said) != 1 {
			s.T.Fatalf("it says %q: %v", line, err)
		}
		if i.URL = programtest.Text(said, "url"); !origin.MatchString(i.URL) {
			s.T.Fatalf("its URL is no origin: %q", line)
		}
	case <-time.After(programtest.Patience):
		s.T.Fatalf("it says nothing:\n%s", i.LogTail())
	}
	return i, more
}

// EV-27, EV-30, EV-33, RA-04: a program starts the server for itself and reads its URL. With the real codex, a task
// calls a tool of that program, and its result reaches the model. Every event of the task has the trace of the
// request for it. When the server stops, a stream ends in order.
func TestCodesdkdServesTheProgramThatStartsIt(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server, more := codesdkd(s, "--data-dir", s.DataDir, "--workspace-root", s.Workspace, "--default-permission-mode", "ask")
	server.WaitRuntime()
	if !strings.HasPrefix(server.URL, "http://127.0.0.1:") || strings.HasSuffix(server.URL, ":3001") {
		t.Errorf("it serves on %s", server.URL)
	}
	if root := server.Want(http.StatusOK, http.MethodGet, "/v1", nil); programtest.Text(root, "ok") != "true" {
		t.Errorf("%v", root)
	}
	session := server.CreateSession(programtest.Object{"dynamicTools": []programtest.Object{{"name": "lookup_ticket", "description": "Look up a ticket",
		"inputSchema": programtest.Object{"type": "object", "properties": programtest.Object{"id": programtest.Object{"type": "string"}}}}}})
	base := "/v1/sessions/" + session
	if made := server.Want(http.StatusOK, http.MethodGet, base, nil); programtest.Text(made, "cwd") != s.Workspace {
		t.Errorf("the session works in %v", made)
	}
	const traceID, spanID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	ask := func(id string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+base+"/tasks", strings.NewReader(
			`{"taskId":"`+id+`","messages":[{"role":"user","content":"MOCK_CALL[lookup_ticket|{\"id\":\"T-1\"}]END"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
		if answer := server.Show(request); !strings.Contains(answer, "202 Accepted") {
			t.Fatal(answer)
		}
	}
	events := followTasks(server, session, 0)
	decide := func(status int, word string, call, body programtest.Object) {
		t.Helper()
		body["attempt"], body["inputHash"] = call["attempt"], call["input_hash"]
		path := base + "/tool-calls/" + strings.ReplaceAll(programtest.Text(call, "tool_call_id"), ":", "%3A") + "/" + word
		server.Want(status, http.MethodPost, path, body)
	}
	ask("yes")
	call := events.until("tool.call.requested")["payload"].(programtest.Object)
	if programtest.Text(call, "name") != "client.lookup_ticket" || programtest.Text(call, "input", "id") != "T-1" {
		t.Errorf("asked is %v", call)
	}
	events.until("tool.call.policy_evaluated")
	decide(http.StatusBadRequest, "approve", call, programtest.Object{}) // it needs a result
	decide(http.StatusOK, "approve", call, programtest.Object{"result": "ticket is green"})
	if done := events.until("tool.call.completed"); !strings.Contains(fmt.Sprint(done["payload"]), "ticket is green") {
		t.Errorf("%v", done)
	}
	events.until("task.completed")
	if output := s.LastOutput(); !strings.Contains(output, "ticket is green") {
		t.Errorf("the model got %s", output)
	}
	ask("no")
	call = events.until("tool.call.requested")["payload"].(programtest.Object)
	events.until("tool.call.policy_evaluated")
	decide(http.StatusOK, "deny", call, programtest.Object{"reason": "the tickets are closed"})
	denied := events.until("tool.call.denied")
	if programtest.Text(denied, "payload", "reason") != "the tickets are closed" || programtest.Text(denied, "payload", "actor") == "" {
		t.Errorf("%v", denied)
	}
	events.until("task.completed")
	if output := s.LastOutput(); !strings.Contains(output, "the tickets are closed") {
		t.Errorf("the model got %s", output)
	}

	of := map[string]string{}
	for _, one := range server.Want(http.StatusOK, http.MethodGet, base+"/events", nil)["events"].([]any) {
		task := programtest.Text(one, "trace", "task_id")
		if task == "" {
			continue
		}
		of[task] += strings.TrimPrefix(programtest.Text(one, "type"), "tool.call.") + " "
		if programtest.Text(one, "trace", "trace_id") != traceID || programtest.Text(one, "trace", "span_id") == "" {
			t.Errorf("%s of task %s is of the trace %v", programtest.Text(one, "type"), task, one.(programtest.Object)["trace"])
		}
	}
	const asked = "requested policy_evaluated policy_evaluated "
	if !strings.Contains(of["yes"], asked+"approved started completed ") || !strings.Contains(of["no"], asked+"denied ") ||
		strings.Contains(of["no"], "started completed") {
		t.Errorf("the events of the tasks are %v", of)
	}

	if err := server.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := events.lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || strings.HasPrefix(line, "event:") {
			t.Fatalf("the stream ends with %q %v", line, err)
		}
	}
	select {
	case said := <-more:
		<-server.Exited
		if code := server.Cmd.ProcessState.ExitCode(); code != 0 || said != "" {
			t.Errorf("it ended with %d and said %q", code, said)
		}
	case <-time.After(programtest.Patience):
		t.Fatal("it does not stop")
	}
	if stores, err := filepath.Glob(filepath.Join(s.DataDir, "*.db")); err != nil || len(stores) == 0 {
		left, _ := os.ReadDir(s.DataDir)
		t.Errorf("there is no store in its data directory, but %s (%v)", fmt.Sprint(left), err)
	}
}

// EV-33, TL-26, RA-19, RA-21: a server that belongs to one program keeps codex's home, like those of the other
// runtimes, below its data directory. It gives its tools to sessions whose agents have no built-in ones.
func TestCodesdkdKeepsEverythingBelowItsDataDirectory(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	home := t.TempDir()
	s.Env = slices.DeleteFunc(s.Env, func(set string) bool {
		return strings.HasPrefix(set, "CODEX_HOME=") || strings.HasPrefix(set, "HOME=")
	})
	s.Env = append(s.Env, "HOME="+home, "XDG_STATE_HOME="+filepath.Join(s.DataDir, "state"), "DEFAULT_NETWORK_ACCESS=enabled")
	server, _ := codesdkd(s, "--data-dir", s.DataDir, "--workspace-root", s.Workspace)
	server.WaitRuntime()
	_, health := server.Call(http.MethodGet, "/api/health", nil)
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%v/environ", health["codex"].(programtest.Object)["pid"]))
	if err != nil {
		t.Fatal(err)
	}
	codexHome := ""
	for _, set := range strings.Split(string(environ), "\x00") {
		if value, is := strings.CutPrefix(set, "CODEX_HOME="); is {
			codexHome = value
		}
	}
	data, err := filepath.EvalSymlinks(s.DataDir)
	if err != nil || !strings.HasPrefix(codexHome, data+"/") && !strings.HasPrefix(codexHome, s.DataDir+"/") {
		t.Errorf("codex lives in %q, the data directory is %s (%v)", codexHome, data, err)
	}
	for _, name := range []string{"codex", "claude"} {
		made := server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions", programtest.Object{"runtime": name,
			"isolationLevel": "namespaced", "credentialNamespace": "default"})
		if made["native_tools"] != "off" || made["isolation_level"] != "namespaced" || made["credential_namespace"] != "default" {
			t.Errorf("a session of %s is opened as %v", name, made)
		}
		session := programtest.Text(made, "session_id")
		server.Want(http.StatusAccepted, http.MethodPost, "/v1/sessions/"+session+"/tasks", programtest.Object{
			"messages": []programtest.Object{{"role": "user", "content": "MOCK_REPLY[hello]"}}})
		given := followTasks(server, session, 0).until("model.input")
		_, input, err := server.Try(http.MethodGet, "/v1/artifacts/"+programtest.Text(given, "payload", "input_ref", "artifact_id"), nil)
		for _, tool := range []string{"workspace.read", "workspace.list", "workspace.write", "patch.apply"} {
			if err != nil || !strings.Contains(string(input), `"name":"`+tool+`"`) {
				t.Errorf("%s is not given %s: %s %v", name, tool, input, err)
			}
		}
	}
	other := server.Want(http.StatusServiceUnavailable, http.MethodPost, "/v1/sessions", programtest.Object{"credentialNamespace": "user:1"})
	if !strings.Contains(programtest.Text(other, "message"), "HARNESS_CREDENTIAL_NAMESPACE=user:1") {
		t.Errorf("another namespace is answered %v", other)
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) != 0 {
		t.Errorf("there is %v in the user's home (%v)", left, err)
	}
	if err := server.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-server.Exited
}
