package tasks_test

import (
	"strings"
	"testing"

	"harness/internal/services/tasks"
)

// EV-12: if the setting is on, separate events bracket a task's request to its runtime, however it ends; tasks that
// began before or after keep their events and numbers.
func TestRuntimeRequestEvents(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		s.submit(session, "good", "REPLY[fine]")
		s.submit(session, "bad", "FAIL[fail as asked]")
		s.over(session, "bad")
		all := s.events(session)
		for task, want := range map[string]string{
			"good": "task.started model.input runtime.request.started model.output.delta model.output.completed " +
				"runtime.request.completed task.completed",
			"bad": "task.started model.input runtime.request.started runtime.request.completed task.failed",
		} {
			if got := types(all, task); got != want {
				t.Errorf("%s: %s", task, got)
			}
		}
		var ends []string
		for _, e := range all {
			if e.Type == tasks.RuntimeCompleted {
				ends = append(ends, string(e.Payload))
			}
		}
		if len(ends) != 2 || !strings.Contains(ends[0], `"is_error":false`) || !strings.Contains(ends[1], `"is_error":true`) ||
			!strings.Contains(ends[1], `"request_id":"bad"`) || !strings.Contains(ends[1], `"duration_ms":`) {
			t.Errorf("%q", ends)
		}
		if err := s.tasks.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.tasks = s.service()
		s.Start(s.tasks)
		s.submit(session, "untold", "REPLY[fine]")
		s.over(session, "untold")
		now := s.events(session)
		if got := types(now, "untold"); strings.Contains(got, "runtime.request") {
			t.Errorf("untold: %s", got)
		}
		if written(now[:len(all)]) != written(all) {
			t.Error("the events of before are others now")
		}
	}, func(o *tasks.Options) { o.ReportRequests = true })
}
