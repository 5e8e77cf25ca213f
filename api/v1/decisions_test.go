package v1_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"harness/internal/services/tasks"
)

// decide decides a call. more are additional members of the body.
func (s *site) decide(base, word string, call object, more object) (int, object) {
	s.t.Helper()
	body := object{"attempt": call["attempt"], "input_hash": call["input_hash"]}
	for name, value := range more {
		body[name] = value
	}
	return s.call(http.MethodPost, base+"/tool-calls/"+url.PathEscape(text(call, "tool_call_id"))+"/"+word, body)
}

// decided is decide with an expected status and code.
func (s *site) decided(status int, code, base, word string, call object, more object) object {
	s.t.Helper()
	got, answer := s.decide(base, word, call, more)
	if got != status || text(answer, "error") != code || text(answer, "tool_call_id") != text(call, "tool_call_id") &&
		got != http.StatusBadRequest {
		s.t.Errorf("%s %v got %d %v, want %d %s", word, more, got, answer, status, code)
	}
	return answer
}

func (s *site) there(name string) bool {
	_, err := os.Stat(s.Path(name))
	return err == nil
}

const (
	asked  = "task.started model.input tool.call.requested tool.call.policy_evaluated "
	ran    = "tool.call.approved tool.call.started "
	notRun = "tool.call.denied "
)

// SE-06, SE-07, SE-08, SE-09, SE-10, EV-09, EV-11: in mode ask, a tool of the runtime waits for a decision about
// exactly this call. The decision is made once and published with its author and reason. A reason reaches the agent
// and the task continues. After a stop nothing runs.
func TestToolsOfTheRuntimeAreDecided(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		base := s.ask()
		stream := s.follow(base, "", "")
		pending := func(task, command string) object {
			s.task(base, task, "RUN["+command+"]")
			call := stream.event(tasks.CallRequested, task)
			if policy := stream.event(tasks.CallEvaluated, task); text(policy, "result") != "ask" {
				t.Errorf("%s has the policy %v", task, policy)
			}
			return call
		}
		call := pending("yes", "echo x > "+s.Path("made"))
		if text(call, "name") != "runtime.command_execution" || !strings.Contains(text(call, "input", "command"), "made") {
			t.Errorf("asked is %v", call)
		}
		for name, wrong := range map[string]any{"attempt": 2, "input_hash": "sha256:0"} {
			answer := s.decided(http.StatusConflict, name+"_mismatch", base, "approve", call, object{name: wrong})
			if text(answer, "attempt") != "1" || text(answer, "input_hash") != text(call, "input_hash") {
				t.Errorf("a wrong %s got %v", name, answer)
			}
		}
		for name, value := range map[string]any{"attempt": nil, "input_hash": 5, "answers": object{"q1": object{}}, "result": "x"} {
			s.decided(http.StatusBadRequest, "invalid_request", base, "approve", call, object{name: value})
		}
		if s.there("made") {
			t.Error("it ran before it was approved")
		}
		s.decided(http.StatusOK, "", base, "approve", call, object{"reason": "looks fine"})
		if status := s.over(base, "yes"); status != "completed" || !s.there("made") {
			t.Errorf("the approved task is %s, and its file is there: %v", status, s.there("made"))
		}
		for _, word := range []string{"approve", "deny"} {
			answer := s.decided(http.StatusNotFound, "tool_call_not_pending", base, word, call, nil)
			if text(answer, "status") != "resolved" || text(answer, "decided_by") != "me" {
				t.Errorf("%s once more got %v", word, answer)
			}
		}

		call = pending("no", "echo x > "+s.Path("denied"))
		s.decided(http.StatusOK, "", base, "deny", call, object{"reason": "not today"})
		if status := s.over(base, "no"); status != "completed" {
			t.Errorf("the denied task is %s", status)
		}
		call = pending("stopped", "echo x > "+s.Path("stopped"))
		s.want(http.StatusOK, http.MethodPost, base+"/tasks/stopped/stop", object{"reason": "enough"})
		if status := s.over(base, "stopped"); status != "stopped" {
			t.Errorf("the stopped task is %s", status)
		}
		answer := s.decided(http.StatusNotFound, "tool_call_not_pending", base, "approve", call, nil)
		if text(answer, "decided_by") != "" {
			t.Errorf("without a decision, the event is %v", answer)
		}
		s.task(base, "last", "REPLY[fine]")
		s.over(base, "last")
		if s.there("denied") || s.there("stopped") {
			t.Error("a command ran that was not approved")
		}

		all := s.page(base)
		for task, want := range map[string]string{
			"yes": asked + ran, "no": asked + notRun + "model.output.delta", "stopped": asked + notRun + "task.stopped",
		} {
			if got := kinds(all, task); !strings.HasPrefix(got, want) {
				t.Errorf("%s is published as %s", task, got)
			}
		}
		log := strings.Join(all, "\n")
		for _, words := range []string{`"reason":"looks fine"`, `"reason":"not today"`, "then not: not today", `"actor":"me"`,
			"the task was stopped: enough"} {
			if !strings.Contains(log, words) {
				t.Errorf("%s is not among the events\n%s", words, log)
			}
		}
	})
}

// The agent's questions are calls. A client approves them with answers.
func TestQuestionsAreApprovedWithAnswers(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		base := s.ask()
		stream := s.follow(base, "", "")
		s.task(base, "ask", "ASK")
		call := stream.event(tasks.CallRequested, "ask")
		if text(call, "name") != "runtime.request_user_input" || !strings.Contains(written(call["input"]), "Which one?") {
			t.Errorf("asked is %v", call)
		}
		stream.event(tasks.CallEvaluated, "ask")
		for name, value := range map[string]any{"answers": "yes", "result": "yes"} {
			s.decided(http.StatusBadRequest, "invalid_request", base, "approve", call, object{name: value})
		}
		answers := object{"q1": object{"answers": []string{"the blue one"}}}
		s.decided(http.StatusBadRequest, "invalid_request", base, "deny", call, object{"answers": answers})
		s.decided(http.StatusOK, "", base, "approve", call, object{"answers": answers})
		s.over(base, "ask")
		s.task(base, "again", "ASK")
		call = stream.event(tasks.CallRequested, "again")
		stream.event(tasks.CallEvaluated, "again")
		s.decided(http.StatusOK, "", base, "deny", call, object{"reason": "ask another person"})
		s.over(base, "again")
		all := s.page(base)
		if got := kinds(all, "ask"); !strings.HasPrefix(got, asked+ran+"tool.call.completed model.output") ||
			!strings.Contains(strings.Join(all, "\n"), "the blue one") {
			t.Errorf("the answered question is published as %s\n%s", got, strings.Join(all, "\n"))
		}
		if got := kinds(all, "again"); !strings.HasPrefix(got, asked+notRun+"model.output") ||
			!strings.Contains(strings.Join(all, "\n"), "ask another person") {
			t.Errorf("the other one is published as %s", got)
		}
	})
}

// RA-14: an agent that exits fails its task. The failure is reported as retryable, and the next task runs.
func TestAgentExitFailsTask(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		base := s.ask()
		stream := s.follow(base, "", "")
		s.task(base, "dies", "RUN[kill -9 $PPID]")
		s.task(base, "next", "REPLY[fine]")
		call := stream.event(tasks.CallRequested, "dies")
		stream.event(tasks.CallEvaluated, "dies")
		s.decided(http.StatusOK, "", base, "approve", call, nil)
		failed := stream.event(tasks.TaskFailed, "dies")
		if text(failed, "code") != tasks.CodeInterrupted || text(failed, "retryable") != "true" ||
			text(failed, "message") == "" || text(failed, "runtime") != "scripted" {
			t.Errorf("it failed with %v", failed)
		}
		if status := s.over(base, "next"); status != "completed" {
			t.Errorf("the next task is %s", status)
		}
		stored := s.want(http.StatusOK, http.MethodGet, base+"/tasks/dies", nil)
		if text(stored, "status") != "failed" || text(stored, "failure", "code") != tasks.CodeInterrupted {
			t.Errorf("stored is %v", stored)
		}
		if got := kinds(s.page(base), "dies"); !strings.HasSuffix(got, ran+"tool.call.completed task.failed") {
			t.Errorf("published is %s", got)
		}
	})
}

// awaitNothingPending waits until a session has no pending request.
func (s *site) awaitNothingPending(base string) {
	s.t.Helper()
	s.Until("the questions are over", func(ctx context.Context) bool {
		pending, err := s.Pending(ctx, idOf(base))
		return err == nil && len(pending) == 0
	})
}
