package v1_test

import (
	"net/http"
	"strings"
	"testing"

	"harness/database"
)

// EV-30: what a caller says of itself is in the events that its request causes, in either spelling; a request_id that it
// does not give is that of the HTTP request.
func TestWhoAsksIsInTheEvents(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	made := s.want(http.StatusCreated, http.MethodPost, "/v1/sessions", object{"clientId": "app", "request_id": "r-session", "user_id": "u"})
	base := "/v1/sessions/" + made["session_id"].(string)
	s.want(http.StatusAccepted, http.MethodPost, base+"/tasks", object{"task_id": "one", "client_id": "other", "requestId": "r-task",
		"userId": "somebody", "messages": []object{{"role": "user", "content": "hello"}}})
	s.over(base, "one")
	seen := 0
	for _, one := range s.want(http.StatusOK, http.MethodGet, base+"/events", nil)["events"].([]any) {
		event := one.(object)
		trace := event["trace"].(object)
		want := object{"client_id": "app", "request_id": "r-session", "user_id": "u"}
		if trace["task_id"] != nil {
			want = object{"client_id": "other", "request_id": "r-task", "user_id": "somebody"}
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
