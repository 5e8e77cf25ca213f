package v1_test

import (
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/services/tasks"
)

// EV-30: the caller's ids are in the events of its request, in either spelling. The default request_id is that of the
// HTTP request.
func TestCallerIsInTheEvents(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	made := s.want(http.StatusCreated, http.MethodPost, "/v1/sessions", object{"clientId": "app", "request_id": "r-session", "user_id": "u"})
	base := "/v1/sessions/" + made["session_id"].(string)
	s.want(http.StatusAccepted, http.MethodPost, base+"/tasks", object{"task_id": "one", "client_id": "other", "requestId": "r-task",
		"userId": "alice", "messages": []object{{"role": "user", "content": "hello"}}})
	s.over(base, "one")
	seen := 0
	for _, one := range s.want(http.StatusOK, http.MethodGet, base+"/events", nil)["events"].([]any) {
		event := one.(object)
		trace := event["trace"].(object)
		want := object{"client_id": "app", "request_id": "r-session", "user_id": "u"}
		if trace["task_id"] != nil {
			want = object{"client_id": "other", "request_id": "r-task", "user_id": "alice"}
			seen++
		}
		for name, value := range want {
			if trace[name] != value {
				t.Errorf("%v of %s is %v, want %v", name, event["type"], trace[name], value)
			}
		}
		if runtime := event["runtime"].(object); runtime["runtime_session_id"] == nil {
			t.Errorf("%s is of the runtime %v", event["type"], runtime)
		}
	}
	if seen < 3 {
		t.Errorf("%d events of the task", seen)
	}
	s.refused(http.StatusBadRequest, "invalid_request", http.MethodPost, base+"/tasks", object{"client_id": strings.Repeat("x", 300),
		"messages": []object{{"role": "user", "content": "hello"}}})
	s.refused(http.StatusBadRequest, "invalid_request", http.MethodPost, base+"/tasks/one/stop", object{"user_id": 3})
}

// EV-30: the events of a decision or a stop have the caller that made it, regardless of who requested the task. Every
// event names its session, and a task's events name the task.
func TestDeciderIsInTheEvents(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	base := s.ask()
	stream := s.follow(base, "", "")
	asks := func(task string) object {
		t.Helper()
		s.want(http.StatusAccepted, http.MethodPost, base+"/tasks", object{"task_id": task, "client_id": "app", "user_id": "ann",
			"messages": []object{{"role": "user", "content": "RUN[true]"}}})
		call := stream.event(tasks.CallRequested, task)
		stream.event(tasks.CallEvaluated, task)
		return call
	}
	bob := object{"client_id": "phone", "request_id": "r-bob", "user_id": "bob"}
	s.decided(http.StatusOK, "", base, "approve", asks("approved"), bob)
	s.over(base, "approved")
	s.decided(http.StatusOK, "", base, "deny", asks("denied"), bob)
	s.over(base, "denied")
	asks("stopped")
	s.want(http.StatusOK, http.MethodPost, base+"/tasks/stopped/stop", bob)
	s.over(base, "stopped")
	bobs := 0
	for _, one := range s.want(http.StatusOK, http.MethodGet, base+"/events", nil)["events"].([]any) {
		event := one.(object)
		trace, kind := event["trace"].(object), event["type"].(string)
		if trace["session_id"] != idOf(base) || (trace["task_id"] == nil) != (kind == tasks.SessionCreated) {
			t.Errorf("%s has the trace %v", kind, trace)
		}
		user := "ann"
		switch {
		case kind == tasks.SessionCreated:
			continue
		case kind == tasks.CallApproved, trace["task_id"] == "denied" && kind == tasks.CallDenied, kind == tasks.TaskStopped:
			user = "bob"
			bobs++
			if trace["client_id"] != "phone" || trace["request_id"] != "r-bob" {
				t.Errorf("%s has the trace %v", kind, trace)
			}
		case trace["task_id"] == "stopped" && kind == tasks.CallDenied, kind == tasks.CallEvaluated, kind == tasks.CallStarted:
			continue // events of the decision, too
		}
		if trace["user_id"] != user {
			t.Errorf("%s is %v's, want %s", kind, trace["user_id"], user)
		}
	}
	if bobs != 3 {
		t.Errorf("%d events name the decider", bobs)
	}
}
