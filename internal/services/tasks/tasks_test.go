package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/tasks"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

const patience = time.Minute

func TestMain(m *testing.M) { scripted.Main(m) }

// site is a task service on sessions whose agent is the scripted one.
type site struct {
	*sessiontest.Site
	tasks *tasks.Service
	t     *testing.T
}

func open(t *testing.T, engine database.Engine, edits ...func(*tasks.Options)) *site {
	t.Helper()
	s := &site{Site: sessiontest.Open(t, dbtest.Open(t, engine)), t: t}
	s.tasks = s.service(edits...)
	s.Start(s.tasks)
	return s
}

func each(t *testing.T, test func(t *testing.T, s *site), edits ...func(*tasks.Options)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		test(t, open(t, engine, edits...))
	})
}

func (s *site) service(edits ...func(*tasks.Options)) *tasks.Service {
	options := tasks.Options{Journal: s.Journal, DB: s.DB, Sessions: tasks.Sessions{Finder: s.Site, Turns: s.Site}, Logger: zerolog.Nop(),
		Operations: operations.New(operations.Options{Sessions: sessiontest.Parts(s.Service), Controls: s.Site, Runtimes: s.Site}),
		Poll:       20 * time.Millisecond}
	for _, edit := range edits {
		edit(&options)
	}
	return tasks.New(options)
}

func says(text string) []tasks.Message {
	block, _ := json.Marshal(map[string]string{"type": "text", "text": text})
	return []tasks.Message{{Role: "user", Content: []json.RawMessage{block}}}
}

func (s *site) submit(session, id, text string) {
	s.t.Helper()
	if _, err := s.tasks.Submit(s.t.Context(), tasks.Task{SessionID: session, ID: id, Messages: says(text)}); err != nil {
		s.t.Fatal(err)
	}
}

// over waits for the end of a task.
func (s *site) over(session, id string) (task tasks.Task) {
	s.t.Helper()
	s.Until("the end of "+id, func(ctx context.Context) bool {
		var err error
		if task, err = s.tasks.Get(ctx, session, id); err != nil {
			s.t.Fatal(err)
		}
		return task.Status.Over()
	})
	return task
}

func (s *site) events(session string) (all []tasks.Event) {
	s.t.Helper()
	r, err := s.tasks.Reader(s.t.Context(), session, 0)
	if err == nil {
		all, err = r.Next(s.t.Context(), 1<<20)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	check(s.t, all)
	return all
}

// has waits for an event.
func (s *site) has(session string, fits func(tasks.Event) bool) (found tasks.Event) {
	s.t.Helper()
	s.Until("an event", func(context.Context) bool {
		for _, e := range s.events(session) {
			if fits(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func kind(name string) func(tasks.Event) bool {
	return func(e tasks.Event) bool { return e.Type == name }
}

// written formats events as clients get them.
func written(events []tasks.Event) string {
	encoded, err := json.Marshal(events)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

func types(events []tasks.Event, task string) string {
	var all []string
	for _, e := range events {
		if e.Trace.TaskID == task && (len(all) == 0 || e.Type != all[len(all)-1] || e.Type != tasks.OutputDelta) {
			all = append(all, e.Type)
		}
	}
	return strings.Join(all, " ")
}

// EV-02, EV-05, EV-07, EV-08, EV-10, EV-24: tasks of a session run one after the other. Their events are numbered from
// 1, begin with the start and end with the end. Pages of any size add up to the same events.
func TestTasksRunInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		s.submit(session, "one", "REPLY[hello world]")
		s.submit(session, "two", "FAIL[fail as asked]")
		s.submit(session, "three", "REPLY[again]")
		if _, err := s.tasks.Submit(t.Context(), tasks.Task{SessionID: session, ID: "two"}); !errors.Is(err, tasks.ErrExists) {
			t.Errorf("a second task of the same id: %v", err)
		}
		if last := s.over(session, "three"); last.Status != tasks.Completed || last.LastSeq == 0 {
			t.Errorf("%+v", last)
		}
		if two := s.over(session, "two"); two.Status != tasks.Failed || two.Outcome.Failure == nil ||
			!strings.Contains(two.Outcome.Failure.Message, "fail as asked") || two.Outcome.Failure.Runtime != scripted.Name {
			t.Errorf("%+v", two.Outcome)
		}
		all := s.events(session)
		const run = "task.started model.input model.output.delta model.output.completed task.completed"
		if all[0].Type != tasks.SessionCreated || types(all, "one") != run || types(all, "three") != run ||
			types(all, "two") != "task.started model.input task.failed" {
			t.Errorf("%s\n%s\n%s", types(all, "one"), types(all, "two"), types(all, "three"))
		}
		if begin := string(all[1].Payload); all[1].Trace.TaskID != "one" || !strings.Contains(begin, `"user"`) ||
			!strings.Contains(begin, "REPLY[hello world]") {
			t.Errorf("the first task begins with %s", begin)
		}
		for size := 1; size <= len(all); size += 3 {
			var paged []tasks.Event
			for after := int64(0); ; after = paged[len(paged)-1].Seq {
				r, err := s.tasks.Reader(t.Context(), session, after)
				if err != nil {
					t.Fatal(err)
				}
				page, err := r.Next(t.Context(), size)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				paged = append(paged, page...)
			}
			if fmt.Sprint(paged) != fmt.Sprint(all) {
				t.Fatalf("pages of %d are not the whole", size)
			}
		}
	})
}

// SE-07, SE-08, SE-09, SE-10, TL-29: a runtime's approval is decided by attempt and hash. A mismatching decision is
// refused and the approval stays open. A reason reaches the agent, and a call cannot be decided twice.
func TestRuntimeApprovalsAreDecided(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		pending := func(task string) (call struct {
			ID      string `json:"tool_call_id"`
			Attempt int
			Hash    string `json:"input_hash"`
			Input   map[string]any
		}) {
			asked := s.has(session, func(e tasks.Event) bool { return e.Type == tasks.CallEvaluated && e.Trace.TaskID == task })
			for _, e := range s.events(session) {
				if e.Type == tasks.CallRequested && e.Trace.TaskID == task && e.Seq < asked.Seq {
					if err := json.Unmarshal(e.Payload, &call); err != nil {
						t.Fatal(err)
					}
				}
			}
			return call
		}
		s.submit(session, "yes", "RUN[echo out > "+s.Path("made")+"]")
		call := pending("yes")
		if !strings.Contains(fmt.Sprint(call.Input), "made") || !strings.HasPrefix(call.Hash, "sha256:") {
			t.Errorf("%+v", call)
		}
		yes := tasks.Decision{Allow: true, Attempt: call.Attempt, InputHash: call.Hash}
		for _, wrong := range []tasks.Decision{{Allow: true, Attempt: 2, InputHash: call.Hash},
			{Allow: true, Attempt: 1, InputHash: "sha256:0"}} {
			var mismatch *tasks.MismatchError
			if _, err := s.tasks.Decide(t.Context(), session, call.ID, wrong, "me"); !errors.As(err, &mismatch) ||
				mismatch.Attempt != 1 || mismatch.InputHash != call.Hash {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		if _, err := os.Stat(s.Path("made")); err == nil {
			t.Error("it ran before it was approved")
		}
		if _, err := s.tasks.Decide(t.Context(), session, "none", yes, "me"); !errors.Is(err, tasks.ErrNotPending) {
			t.Errorf("%v", err)
		}
		if _, err := s.tasks.Decide(t.Context(), session, call.ID, yes, "me"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.tasks.Decide(t.Context(), session, call.ID, yes, "me"); !errors.Is(err, tasks.ErrNotPending) {
			t.Errorf("decided twice: %v", err)
		}
		s.over(session, "yes")
		if _, err := os.Stat(s.Path("made")); err != nil {
			t.Error(err)
		}
		s.submit(session, "no", "RUN[echo out > "+s.Path("not made")+"]")
		call = pending("no")
		if _, err := s.tasks.Decide(t.Context(), session, call.ID, tasks.Decision{Attempt: call.Attempt, InputHash: call.Hash,
			Reason: "not today"}, "me"); err != nil {
			t.Fatal(err)
		}
		s.over(session, "no")
		all := s.events(session)
		const begin = "task.started model.input tool.call.requested tool.call.policy_evaluated tool.call.policy_evaluated "
		if got := types(all, "yes"); !strings.HasPrefix(got, begin+"tool.call.approved tool.call.started ") ||
			!strings.Contains(got, "tool.call.completed") || strings.Contains(got, "denied") {
			t.Error(got)
		}
		if got := types(all, "no"); !strings.HasPrefix(got, begin+"tool.call.denied model.output") {
			t.Error(got)
		}
		if got := written(all); !strings.Contains(got, `"reason":"not today"`) ||
			!strings.Contains(got, "then not: not today") || !strings.Contains(got, `"actor":"me"`) {
			t.Error(got)
		}
	})
}

// SE-05, EV-06, EV-31: a stop ends a task once and may be repeated, and the next task runs; a stopped queued task never
// begins.
func TestTasksAreStopped(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		s.submit(session, "runs", "HOLD[a]")
		s.submit(session, "waits", "REPLY[never]")
		s.submit(session, "next", "RUN[true]")
		if err := s.Agent.AwaitHeld(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		stop := func(id string) (tasks.Task, bool) {
			task, already, err := s.tasks.StopTask(t.Context(), session, id, tasks.Stop{Reason: "enough"})
			if err != nil {
				t.Fatal(err)
			}
			return task, already
		}
		if task, already := stop("waits"); already || task.Status != tasks.Stopped {
			t.Errorf("%+v %v", task, already)
		}
		stopped, _ := stop("runs") // the stop returns when the task has ended
		if task := s.over(session, "runs"); stopped.Status != tasks.Stopped || task.Status != tasks.Stopped || task.Outcome.Reason != "enough" {
			t.Errorf("%+v", task)
		}
		if _, already := stop("runs"); !already {
			t.Error("it was not over")
		}
		s.has(session, kind(tasks.CallEvaluated)) // an approval is open
		stop("next")
		if task := s.over(session, "next"); task.Status != tasks.Stopped {
			t.Errorf("%+v", task)
		}
		if _, _, err := s.tasks.StopTask(t.Context(), session, "none", tasks.Stop{Reason: ""}); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("%v", err)
		}
		s.submit(session, "last", "REPLY[fine]")
		if task := s.over(session, "last"); task.Status != tasks.Completed {
			t.Errorf("%+v", task)
		}
		all := s.events(session)
		if got := types(all, "waits"); got != "task.started model.input task.stopped" {
			t.Error(got)
		}
		if got := types(all, "next"); !strings.HasSuffix(got, "tool.call.denied task.stopped") {
			t.Error(got)
		}
	})
}

// A queued task in an archived session never begins, and reports why; after unarchiving, the session accepts tasks
// again.
func TestTasksOfAnArchivedSessionDoNotBegin(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		s.submit(session, "runs", "HOLD[b]")
		s.submit(session, "waits", "REPLY[never]")
		if err := s.Agent.AwaitHeld(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Archive(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		if task := s.over(session, "waits"); task.Status != tasks.Stopped || !strings.Contains(task.Outcome.Reason, "archived") {
			t.Errorf("%+v %+v", task, task.Outcome)
		}
		if task := s.over(session, "runs"); !task.Status.Over() {
			t.Errorf("%+v", task)
		}
		if _, err := s.Unarchive(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		s.submit(session, "last", "REPLY[fine]")
		if task := s.over(session, "last"); task.Status != tasks.Completed {
			t.Errorf("%+v %+v", task, task.Outcome)
		}
		if got := types(s.events(session), "waits"); got != "task.started model.input task.stopped" {
			t.Error(got)
		}
	})
}

// EV-06: a stop and an end race, and the record has exactly one of them.
func TestAStopRacesTheEnd(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	session := s.NewSession()
	for n := range 30 {
		id := fmt.Sprint("race ", n)
		s.submit(session, id, "REPLY[x]")
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(func() {
				if _, _, err := s.tasks.StopTask(context.WithoutCancel(t.Context()), session, id, tasks.Stop{Reason: "race"}); err != nil {
					t.Error(err)
				}
			})
		}
		stops.Wait()
		if task := s.over(session, id); task.Status != tasks.Completed && task.Status != tasks.Stopped {
			t.Errorf("%+v %+v", task, task.Outcome)
		}
	}
	s.events(session)
}

// EV-26, EV-06: tasks survive a server that was killed at any point, and end once.
func TestTasksOutliveTheServer(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		s.submit(session, "runs", "HOLD[b]")
		s.submit(session, "waits", "REPLY[later]")
		if err := s.Agent.AwaitHeld(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		s.Until("the turn is known", func(ctx context.Context) bool {
			task, err := s.tasks.Get(ctx, session, "runs")
			return err == nil && task.TurnID != ""
		})
		if err := s.tasks.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The state after its server was killed before it stored the turn.
		if err := s.DB.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update tasks set status = 'starting', turn_id = '' where task_id = 'runs'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		s.tasks = s.service()
		s.Start(s.tasks)
		if err := s.Agent.Release("b"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"runs", "waits"} {
			if task := s.over(session, id); task.Status != tasks.Completed {
				t.Errorf("%+v %+v", task, task.Outcome)
			}
		}
		s.events(session)
	})
}

// EV-29: the number of unfinished tasks is limited.
func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite, func(o *tasks.Options) { o.Limits = tasks.Limits{PerSession: 2, Open: 3} })
	var limit *tasks.LimitError
	first, second := s.NewSession(), s.NewSession()
	s.submit(first, "1", "HOLD[c]")
	s.submit(first, "2", "HOLD[d]")
	if _, err := s.tasks.Submit(t.Context(), tasks.Task{SessionID: first, Messages: says("x")}); !errors.As(err, &limit) ||
		limit.Of != "session" {
		t.Errorf("%v", err)
	}
	s.submit(second, "1", "HOLD[c]")
	if _, err := s.tasks.Submit(t.Context(), tasks.Task{SessionID: second, Messages: says("x")}); !errors.As(err, &limit) ||
		limit.Of != "server" {
		t.Errorf("%v", err)
	}
}

// EV-02: event numbers stay when records are pruned, and a read reports the gap.
func TestNumbersStayWhenRecordsGo(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		id := s.NewSession()
		s.submit(id, "one", "REPLY[a b c]")
		s.over(id, "one")
		s.submit(id, "two", "REPLY[d e f]")
		s.over(id, "two")
		before := s.events(id)
		if _, err := s.Journal.Prune(t.Context(), 6); err != nil {
			t.Fatal(err)
		}
		r, err := s.tasks.Reader(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		left, err := r.Next(t.Context(), 1000)
		if err != nil || len(left) == 0 || r.Oldest != left[0].Seq || r.Oldest == 1 {
			t.Fatalf("%d events from %d on: %v", len(left), r.Oldest, err)
		}
		if want := before[len(before)-len(left):]; fmt.Sprint(left) != fmt.Sprint(want) {
			t.Errorf("left is\n%s\nwant\n%s", written(left), written(want))
		}
		// The numbers are deleted with their session.
		if _, err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if !polling.Until(patience, func() bool {
			found, err := database.ReadTexts(t.Context(), s.DB.Read(), "read", `select task_id from tasks`)
			if err != nil {
				t.Fatal(err)
			}
			return len(found) == 0
		}) {
			t.Fatal("the tasks are still there")
		}
		var gone *session.DeletedError
		if _, err := s.tasks.Get(t.Context(), id, "one"); !errors.As(err, &gone) {
			t.Errorf("%v", err)
		}
	})
}

// A turn that another client began is a task with the turn's id.
func TestTurnsOfOthersAreTasks(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	session := s.NewSession()
	turn := s.Say(session, "REPLY[hi there]")
	s.Ended(session, turn)
	s.has(session, kind(tasks.TaskCompleted))
	s.submit(session, "ours", "REPLY[ours]")
	s.over(session, "ours")
	turn2 := s.Say(session, "FAIL[fail as asked]")
	s.Ended(session, turn2)
	s.has(session, kind(tasks.TaskFailed))
	all := s.events(session)
	const run = "task.started model.input model.output.delta model.output.completed task.completed"
	if types(all, turn) != run || types(all, "ours") != run || types(all, turn2) != "task.started model.input task.failed" {
		t.Errorf("%s\n%s\n%s", types(all, turn), types(all, "ours"), types(all, turn2))
	}
	if !strings.Contains(string(all[1].Payload), "REPLY[hi there]") {
		t.Errorf("%s", all[1].Payload)
	}
}
