package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// taskStream follows the events of a session over server-sent events.
type taskStream struct {
	t      *testing.T
	lines  *bufio.Reader
	cancel context.CancelFunc
	last   int64
	types  []string
}

// followTasks opens a stream after an event. It sends the number like a browser.
func followTasks(i *programtest.Server, session string, after int64) *taskStream {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	i.T.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.URL+"/v1/sessions/"+session+"/events", nil)
	if err != nil {
		i.T.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		request.Header.Set("Last-Event-ID", fmt.Sprint(after))
	}
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatal(err)
	}
	i.T.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		i.T.Fatalf("the stream is answered %s %s", response.Status, response.Header)
	}
	return &taskStream{t: i.T, lines: bufio.NewReader(response.Body), cancel: cancel, last: after}
}

// until reads up to the first event of a type, and checks that the numbers are consecutive.
func (s *taskStream) until(kind string) programtest.Object {
	s.t.Helper()
	id := ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("no %s came: %v after %v", kind, err, s.types)
		}
		line = strings.TrimSuffix(line, "\n")
		if number, is := strings.CutPrefix(line, "id: "); is {
			id = number
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is || id == "" {
			continue
		}
		var event programtest.Object
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			s.t.Fatal(err)
		}
		seq := int64(event["seq"].(float64))
		if seq != s.last+1 || fmt.Sprint(seq) != id {
			s.t.Fatalf("event %d (id %s) comes after %d", seq, id, s.last)
		}
		s.last, id = seq, ""
		s.types = append(s.types, programtest.Text(event, "type"))
		if programtest.Text(event, "type") == kind {
			return event
		}
	}
}

// EV-03, EV-12, EV-24, EV-27, SE-01, SE-07, RA-04: a task of the real codex and of the real Claude Code over /v1. The
// server is killed while a call waits. The next server gets the decision, and the stream continues at its position to
// the only end.
func TestTasksOfRealAgents(t *testing.T) {
	t.Parallel()
	engines := dbtest.Engines()
	for n, agent := range []string{"codex", "codex", "claude"} {
		engine := engines[n%len(engines)]
		t.Run(agent+" "+string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.WithClaude(t, programtest.WithEngine(engine))
			s.Env = append(s.Env, "DEFAULT_NETWORK_ACCESS=enabled", "HARNESS_TASKS_RUNTIME_EVENTS=true")
			server := s.Start()
			server.AwaitRuntime()
			made := server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
				programtest.Object{"runtime": agent, "permissionMode": "ask", "cwd": s.Workspace, "nativeTools": "on"})
			session := programtest.Text(made, "session_id")
			if made["runtime"] != agent || made["permission_mode"] != "ask" || made["isolation_mode"] != "subprocess" {
				t.Errorf("%v", made)
			}
			file := filepath.Join(s.Workspace, "made-by-"+agent)
			base := "/v1/sessions/" + session
			accepted := server.Want(http.StatusAccepted, http.MethodPost, base+"/tasks", programtest.Object{"task_id": "t1",
				"messages": []programtest.Object{{"role": "user", "content": "MOCK_CMD[touch " + file + "]"}}})
			if programtest.Text(accepted, "status") != "started" {
				t.Errorf("%v", accepted)
			}
			events := followTasks(server, session, 0)
			call := events.until("tool.call.requested")["payload"].(programtest.Object)
			asked := events.until("tool.call.policy_evaluated")
			if programtest.Text(asked, "payload", "result") != "ask" || programtest.Text(asked, "trace", "task_id") != "t1" {
				t.Errorf("%v", asked)
			}
			server.Kill()

			server = s.Start()
			server.AwaitRuntime()
			now := server.Want(http.StatusOK, http.MethodGet, base, nil)
			delete(now, "activity") // a turn is running now
			delete(made, "activity")
			if title := programtest.Text(now, "title"); !strings.HasPrefix(title, "MOCK_CMD[touch") {
				t.Errorf("the session is named %q, not after its first message", title)
			}
			delete(now, "title")
			delete(made, "title")
			if !reflect.DeepEqual(now, made) {
				t.Errorf("it was %v, and is %v", made, now)
			}
			decide := func(word string, body programtest.Object) (int, programtest.Object) {
				return server.Call(http.MethodPost, base+"/tool-calls/"+
					strings.ReplaceAll(programtest.Text(call, "tool_call_id"), ":", "%3A")+"/"+word, body)
			}
			status, answer := decide("approve", programtest.Object{"attempt": call["attempt"], "input_hash": "sha256:0"})
			if status != http.StatusConflict || programtest.Text(answer, "error") != "input_hash_mismatch" ||
				programtest.Text(answer, "input_hash") != programtest.Text(call, "input_hash") {
				t.Errorf("%d %v", status, answer)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("it ran before it was approved")
			}
			right := programtest.Object{"attempt": call["attempt"], "inputHash": call["input_hash"]}
			if status, answer := decide("approve", right); status != http.StatusOK {
				t.Errorf("%d %v", status, answer)
			}
			more := followTasks(server, session, events.last)
			end := more.until("task.completed")
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			if status, answer := decide("deny", right); status != http.StatusNotFound {
				t.Errorf("%d %v", status, answer)
			}
			page := server.Want(http.StatusOK, http.MethodGet, base+"/events", nil)
			var paged []string
			for _, event := range page["events"].([]any) {
				paged = append(paged, programtest.Text(event, "type"))
			}
			if got := append(events.types, more.types...); fmt.Sprint(got) != fmt.Sprint(paged) {
				t.Errorf("streamed were\n%v\nthe page has\n%v", got, paged)
			}
			order := strings.Join(paged, " ")
			for _, one := range []string{"session.created task.started model.input runtime.request.started",
				"runtime.request.completed task.completed", "tool.call.approved tool.call.started",
				"usage.reported", "model.output.completed", "task.completed"} {
				if strings.Count(order, one) != 1 && one != "usage.reported" && one != "model.output.completed" ||
					!strings.Contains(order, one) {
					t.Errorf("%q is not there once in %s", one, order)
				}
			}
			task := server.Want(http.StatusOK, http.MethodGet, base+"/tasks/t1", nil)
			if programtest.Text(task, "status") != "completed" || fmt.Sprint(task["last_seq"]) != fmt.Sprint(end["seq"]) {
				t.Errorf("%v", task)
			}
			server.Want(http.StatusConflict, http.MethodPost, base+"/tasks", programtest.Object{"taskId": "t1",
				"messages": []programtest.Object{{"role": "user", "content": "x"}}})
			again := server.Want(http.StatusOK, http.MethodPost, base+"/tasks/t1/stop", nil)
			if programtest.Text(again, "already") != "true" {
				t.Errorf("%v", again)
			}
			server.Stop()
		})
	}
}
