package main

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
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// codesdkd starts the server as embedding programs do, in a data directory of its own, and returns it with what it
// prints after its one line.
func (s *site) codesdkd(args ...string) (*instance, <-chan string) {
	s.t.Helper()
	cmd := exec.Command(s.program, append([]string{"codesdkd"}, args...)...)
	for _, set := range s.env {
		name, _, _ := strings.Cut(set, "=")
		if !slices.Contains([]string{"PORT", "DATA_DIR", "DATABASE_URL"}, name) {
			cmd.Env = append(cmd.Env, set)
		}
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	i := &instance{site: s, cmd: cmd, ready: make(chan string, 1), exited: make(chan struct{})}
	first, more := make(chan string, 1), make(chan string, 1)
	go func() {
		defer close(i.exited)
		logged := make(chan struct{})
		go func() {
			defer close(logged)
			i.readLog(stderr)
		}()
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		first <- line
		rest, _ := io.ReadAll(lines)
		more <- string(rest)
		<-logged
		_ = cmd.Wait()
	}()
	s.t.Cleanup(func() {
		i.kill()
		if s.t.Failed() {
			s.t.Logf("server log:\n%s", i.logTail())
		}
	})
	select {
	case line := <-first:
		var said object
		if err := json.Unmarshal([]byte(line), &said); err != nil || len(said) != 1 || !strings.HasSuffix(text(said, "url"), "/v1") {
			s.t.Fatalf("it says %q: %v", line, err)
		}
		i.url = strings.TrimSuffix(text(said, "url"), "/v1")
	case <-time.After(patience):
		s.t.Fatalf("it says nothing:\n%s", i.logTail())
	}
	return i, more
}

// EV-27, EV-30, EV-33, RA-04: a program starts the server for itself and reads its URL; with the real codex a task calls a
// tool of that program, whose result reaches the model; every event of the task has the trace of the request that asked
// for it; the end of the server ends a stream in order.
func TestCodesdkdServesTheProgramThatStartsIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, args := range [][]string{{}, {"--data-dir", ""}} {
		if code, said := s.command(append([]string{"codesdkd"}, args...)...); code == 0 || !strings.Contains(said, "--data-dir") {
			t.Errorf("codesdkd %v ended with %d: %s", args, code, said)
		}
	}
	server, more := s.codesdkd("--data-dir", s.dataDir, "--workspace-root", s.workspace, "--default-permission-mode", "ask")
	server.waitRuntime()
	if !strings.HasPrefix(server.url, "http://127.0.0.1:") || strings.HasSuffix(server.url, ":3001") {
		t.Errorf("it serves on %s", server.url)
	}
	if root := server.want(http.StatusOK, http.MethodGet, "/v1", nil); text(root, "ok") != "true" {
		t.Errorf("%v", root)
	}
	session := server.createSession(object{"dynamicTools": []object{{"name": "lookup_ticket", "description": "Look up a ticket",
		"inputSchema": object{"type": "object", "properties": object{"id": object{"type": "string"}}}}}})
	base := "/v1/sessions/" + session
	if made := server.want(http.StatusOK, http.MethodGet, base, nil); text(made, "cwd") != s.workspace {
		t.Errorf("the session works in %v", made)
	}
	const traceID, spanID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	ask := func(id string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+base+"/tasks", strings.NewReader(
			`{"taskId":"`+id+`","messages":[{"role":"user","content":"MOCK_CALL[lookup_ticket|{\"id\":\"T-1\"}]END"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
		if answer := server.show(request); !strings.Contains(answer, "202 Accepted") {
			t.Fatal(answer)
		}
	}
	events := server.followTasks(session, 0)
	decide := func(status int, word string, call, body object) {
		t.Helper()
		body["attempt"], body["inputHash"] = call["attempt"], call["input_hash"]
		path := base + "/tool-calls/" + strings.ReplaceAll(text(call, "tool_call_id"), ":", "%3A") + "/" + word
		server.want(status, http.MethodPost, path, body)
	}
	ask("yes")
	call := events.until("tool.call.requested")["payload"].(object)
	if text(call, "name") != "client.lookup_ticket" || text(call, "input", "id") != "T-1" {
		t.Errorf("asked is %v", call)
	}
	events.until("tool.call.policy_evaluated")
	decide(http.StatusBadRequest, "approve", call, object{}) // what did it come to?
	decide(http.StatusOK, "approve", call, object{"result": "ticket is green"})
	if done := events.until("tool.call.completed"); !strings.Contains(fmt.Sprint(done["payload"]), "ticket is green") {
		t.Errorf("%v", done)
	}
	events.until("task.completed")
	if told := s.told(); !strings.Contains(told, "ticket is green") {
		t.Errorf("the model was told %s", told)
	}
	ask("no")
	call = events.until("tool.call.requested")["payload"].(object)
	events.until("tool.call.policy_evaluated")
	decide(http.StatusOK, "deny", call, object{"reason": "the tickets are closed"})
	denied := events.until("tool.call.denied")
	if text(denied, "payload", "reason") != "the tickets are closed" || text(denied, "payload", "actor") == "" {
		t.Errorf("%v", denied)
	}
	events.until("task.completed")
	if told := s.told(); !strings.Contains(told, "the tickets are closed") {
		t.Errorf("the model was told %s", told)
	}

	of := map[string]string{}
	for _, one := range server.want(http.StatusOK, http.MethodGet, base+"/events", nil)["events"].([]any) {
		task := text(one, "trace", "task_id")
		if task == "" {
			continue
		}
		of[task] += strings.TrimPrefix(text(one, "type"), "tool.call.") + " "
		if text(one, "trace", "trace_id") != traceID || text(one, "trace", "span_id") == "" {
			t.Errorf("%s of task %s is of the trace %v", text(one, "type"), task, one.(object)["trace"])
		}
	}
	const asked = "requested policy_evaluated policy_evaluated "
	if !strings.Contains(of["yes"], asked+"approved started completed ") || !strings.Contains(of["no"], asked+"denied ") ||
		strings.Contains(of["no"], "started completed") {
		t.Errorf("the tasks are told as %v", of)
	}

	if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
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
		<-server.exited
		if code := server.cmd.ProcessState.ExitCode(); code != 0 || said != "" {
			t.Errorf("it ended with %d and said %q", code, said)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
	if stores, err := filepath.Glob(filepath.Join(s.dataDir, "*.db")); err != nil || len(stores) == 0 {
		left, _ := os.ReadDir(s.dataDir)
		t.Errorf("there is no store in its data directory, but %s (%v)", fmt.Sprint(left), err)
	}
}
