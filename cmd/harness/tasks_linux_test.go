package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/dbtest"
)

// taskStream follows the events of a session over server-sent events.
type taskStream struct {
	t      *testing.T
	lines  *bufio.Reader
	cancel context.CancelFunc
	last   int64
	types  []string
}

// followTasks opens a stream behind an event; it sends the number as a browser does.
func (i *instance) followTasks(session string, after int64) *taskStream {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	i.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.url+"/v1/sessions/"+session+"/events", nil)
	if err != nil {
		i.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		request.Header.Set("Last-Event-ID", fmt.Sprint(after))
	}
	response, err := i.client().Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		i.t.Fatalf("the stream is answered %s %s", response.Status, response.Header)
	}
	return &taskStream{t: i.t, lines: bufio.NewReader(response.Body), cancel: cancel, last: after}
}

// until reads to the first event of a type, and checks that numbers follow each other.
func (s *taskStream) until(kind string) object {
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
		var event object
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			s.t.Fatal(err)
		}
		seq := int64(event["seq"].(float64))
		if seq != s.last+1 || fmt.Sprint(seq) != id {
			s.t.Fatalf("event %d (id %s) comes after %d", seq, id, s.last)
		}
		s.last, id = seq, ""
		s.types = append(s.types, text(event, "type"))
		if text(event, "type") == kind {
			return event
		}
	}
}

// EV-03, EV-24, EV-27, SE-07, RA-04: a task of the real codex and of the real Claude Code over /v1: the server is killed
// while a call waits, the next one has it decided, and the stream goes on where it was to the one end.
func TestTasksOfRealAgents(t *testing.T) {
	t.Parallel()
	engines := dbtest.Engines()
	for n, agent := range []string{"codex", "codex", "claude"} {
		engine := engines[n%len(engines)]
		t.Run(agent+" "+string(engine), func(t *testing.T) {
			t.Parallel()
			s := withClaude(t, withEngine(engine))
			s.env = append(s.env, "DEFAULT_NETWORK_ACCESS=enabled")
			server := s.start()
			server.awaitRuntime()
			made := server.want(http.StatusCreated, http.MethodPost, "/v1/sessions",
				object{"runtime": agent, "permissionMode": "ask", "cwd": s.workspace})
			session := text(made, "session_id")
			file := filepath.Join(s.workspace, "made-by-"+agent)
			base := "/v1/sessions/" + session
			accepted := server.want(http.StatusAccepted, http.MethodPost, base+"/tasks", object{"task_id": "t1",
				"messages": []object{{"role": "user", "content": "MOCK_CMD[touch " + file + "]"}}})
			if text(accepted, "status") != "started" {
				t.Errorf("%v", accepted)
			}
			events := server.followTasks(session, 0)
			call := events.until("tool.call.requested")["payload"].(object)
			asked := events.until("tool.call.policy_evaluated")
			if text(asked, "payload", "result") != "ask" || text(asked, "trace", "task_id") != "t1" {
				t.Errorf("%v", asked)
			}
			server.kill()

			server = s.start()
			server.awaitRuntime()
			decide := func(word string, body object) (int, object) {
				return server.call(http.MethodPost, base+"/tool-calls/"+
					strings.ReplaceAll(text(call, "tool_call_id"), ":", "%3A")+"/"+word, body)
			}
			status, told := decide("approve", object{"attempt": call["attempt"], "input_hash": "sha256:0"})
			if status != http.StatusConflict || text(told, "error") != "input_hash_mismatch" ||
				text(told, "input_hash") != text(call, "input_hash") {
				t.Errorf("%d %v", status, told)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("it ran before it was approved")
			}
			right := object{"attempt": call["attempt"], "inputHash": call["input_hash"]}
			if status, told := decide("approve", right); status != http.StatusOK {
				t.Errorf("%d %v", status, told)
			}
			more := server.followTasks(session, events.last)
			end := more.until("task.completed")
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			if status, told := decide("deny", right); status != http.StatusNotFound {
				t.Errorf("%d %v", status, told)
			}
			page := server.want(http.StatusOK, http.MethodGet, base+"/events", nil)
			var paged []string
			for _, event := range page["events"].([]any) {
				paged = append(paged, text(event, "type"))
			}
			if got := append(events.types, more.types...); fmt.Sprint(got) != fmt.Sprint(paged) {
				t.Errorf("streamed were\n%v\nthe page has\n%v", got, paged)
			}
			order := strings.Join(paged, " ")
			for _, one := range []string{"session.created task.started model.input", "tool.call.approved tool.call.started",
				"usage.reported", "model.output.completed", "task.completed"} {
				if strings.Count(order, one) != 1 && one != "usage.reported" && one != "model.output.completed" ||
					!strings.Contains(order, one) {
					t.Errorf("%q is not there once in %s", one, order)
				}
			}
			task := server.want(http.StatusOK, http.MethodGet, base+"/tasks/t1", nil)
			if text(task, "status") != "completed" || fmt.Sprint(task["last_seq"]) != fmt.Sprint(end["seq"]) {
				t.Errorf("%v", task)
			}
			server.want(http.StatusConflict, http.MethodPost, base+"/tasks", object{"taskId": "t1",
				"messages": []object{{"role": "user", "content": "x"}}})
			again := server.want(http.StatusOK, http.MethodPost, base+"/tasks/t1/stop", nil)
			if text(again, "already") != "true" {
				t.Errorf("%v", again)
			}
			server.stop()
		})
	}
}
