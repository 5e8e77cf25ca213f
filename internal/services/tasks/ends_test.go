package tasks_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/tasks"
)

// TE-06: the events of a task with an agent that fails, dies, or hangs until it is killed, and of a stopped one. Open
// entries are closed first, the end is the last event, and the next task runs.
func TestTheOrderOfEnds(t *testing.T) {
	t.Parallel()
	const (
		begin  = "task.started model.input"
		asked  = " tool.call.requested tool.call.policy_evaluated"
		runs   = " tool.call.policy_evaluated tool.call.approved tool.call.started"
		denied = " tool.call.policy_evaluated tool.call.denied"
	)
	kill := func(s *site, _, _ string) {
		for _, one := range s.Runtime.Status().Processes {
			if err := syscall.Kill(one.PID, syscall.SIGKILL); err != nil {
				s.t.Error(err)
			}
		}
	}
	stop := func(s *site, session, task string) {
		if _, _, err := s.tasks.StopTask(s.t.Context(), session, task, tasks.Stop{Reason: "enough"}); err != nil {
			s.t.Error(err)
		}
	}
	approve := func(s *site, session, _ string) {
		asked, err := s.Pending(s.t.Context(), session)
		if err != nil || len(asked) != 1 {
			s.t.Fatalf("asked are %v, %v", asked, err)
		}
		if _, err := s.Settle(s.t.Context(), asked[0].ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"},
			"me"); err != nil {
			s.t.Fatal(err)
		}
	}
	nothing := func(*site, string, string) {}
	for _, c := range []struct {
		what, text string
		at         string // the event that triggers the action
		then       func(s *site, session, task string)
		want       string
	}{
		{"fails", "FAIL[500]", tasks.TaskStarted, nothing, begin + " task.failed"},
		{"hangs until its process is ended", "HOLD[a]", tasks.OutputDelta, kill, begin + " model.output.delta task.failed"},
		{"dies while it asks", "RUN[true]", tasks.CallEvaluated, kill, begin + asked + denied + " task.failed"},
		{"dies in a tool", "RUN[kill -9 $PPID]", tasks.CallEvaluated, approve, begin + asked + runs + " tool.call.completed task.failed"},
		{"has a tool that fails", "RUN[exit 3]", tasks.CallEvaluated, approve,
			begin + asked + runs + " tool.output.completed tool.call.completed model.output.delta model.output.completed task.completed"},
		{"is stopped while it says something", "HOLD[b]", tasks.OutputDelta, stop,
			begin + " model.output.delta model.output.completed task.stopped"},
		{"is stopped while it asks", "RUN[true]", tasks.CallEvaluated, stop, begin + asked + denied + " task.stopped"},
	} {
		t.Run(c.what, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				session := s.NewSession()
				s.submit(session, "it", c.text)
				s.submit(session, "next", "REPLY[fine]")
				s.has(session, func(e tasks.Event) bool { return e.Type == c.at && e.Trace.TaskID == "it" })
				if strings.HasPrefix(c.text, "RUN") {
					s.Until("a person is asked", func(ctx context.Context) bool {
						pending, err := s.Pending(ctx, session)
						return err == nil && len(pending) == 1
					})
				}
				c.then(s, session, "it")
				s.over(session, "it")
				if task := s.over(session, "next"); task.Status != tasks.Completed {
					t.Errorf("the next task is %+v", task)
				}
				if got := types(s.events(session), "it"); got != c.want {
					t.Errorf("events are\n%s, want\n%s", got, c.want)
				}
			})
		})
	}
}
