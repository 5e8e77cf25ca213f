package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/queue"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

func fail(reason string) func(context.Context, *queue.Run) (json.RawMessage, error) {
	return func(context.Context, *queue.Run) (json.RawMessage, error) { return nil, errors.New(reason) }
}

// deaf is a handler that ignores its context until the test releases it; the channels report its progress.
func deaf(began chan<- struct{}, release <-chan struct{}) func(context.Context, *queue.Run) (json.RawMessage, error) {
	return func(context.Context, *queue.Run) (json.RawMessage, error) {
		began <- struct{}{}
		<-release
		return json.RawMessage(`{"late":true}`), nil
	}
}

// A retryable error is retried without an event, immediately, as often as allowed; id and creation time stay.
func TestRetry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		var attempts atomic.Int64
		q := s.start("n", []queue.Definition{
			{Type: "work", Delay: queue.LinearDelay, Run: func(_ context.Context, run *queue.Run) (json.RawMessage, error) {
				if attempts.Add(1); run.Job().Attempts < 3 {
					return nil, fmt.Errorf("%w: t-1", runtime.ErrThreadNotFound)
				}
				return nil, queue.Transient(errors.New("the model is away"))
			}}})
		job := enqueue(t, q, queue.Request{Type: "work", MaxAttempts: 3}).Job
		ended := waitFinal(t, q, job.ID)
		if ended.State != queue.Failed || ended.Attempts != 3 || attempts.Load() != 3 ||
			*ended.Error != "the model is away" || ended.CreatedAt != job.CreatedAt {
			t.Errorf("%d attempts, ended as %+v", attempts.Load(), ended)
		}
		want := []string{"orchestrator_job_queued", "orchestrator_job_started", "orchestrator_job_started",
			"orchestrator_job_started", "orchestrator_job_failed"}
		if got := s.names(job.ID); !reflect.DeepEqual(got, want) {
			t.Errorf("events %v", got)
		}
	})
}

// A handler that ends at its timeout is retried. One that ignores the timeout is abandoned, and its job still ends.
func TestTimeoutIsEnforced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		q := s.start("n", []queue.Definition{
			{Type: "polite", Timeout: 30 * time.Millisecond, Delay: queue.LinearDelay,
				Run: func(ctx context.Context, _ *queue.Run) (json.RawMessage, error) {
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), queue.ErrTimeout) {
						t.Errorf("cause %v", context.Cause(ctx))
					}
					return json.RawMessage(`{}`), nil
				}},
			{Type: "deaf", Timeout: 30 * time.Millisecond, Delay: queue.LinearDelay, Run: deaf(make(chan struct{}, 9), release)},
		})
		for _, kind := range []string{"polite", "deaf"} {
			ended := waitFinal(t, q, enqueue(t, q, queue.Request{Type: kind}).Job.ID)
			if ended.State != queue.Failed || ended.Attempts != 2 || *ended.Error != "orchestrator job timeout" {
				t.Errorf("%s ended as %+v", kind, ended)
			}
		}
	})
}

// At most one job per project and two in total run, whichever node claims.
func TestConcurrencyOnThreeNodes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		var (
			mu          sync.Mutex
			all, most   int
			byProject   = map[string]int{}
			doubled     []string
			definitions = []queue.Definition{
				{Type: "work", Run: func(_ context.Context, run *queue.Run) (json.RawMessage, error) {
					project := run.Job().ProjectID
					mu.Lock()
					all++
					byProject[project]++
					most = max(most, all)
					if byProject[project] > 1 {
						doubled = append(doubled, project)
					}
					mu.Unlock()
					runtimeYield()
					mu.Lock()
					all--
					byProject[project]--
					mu.Unlock()
					return nil, nil
				}}}
		)
		var nodes []*queue.Queue
		for _, name := range []string{"a", "b", "c"} {
			q := s.openOn(startJournal(t, s.db), name, definitions)
			if err := q.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, q)
		}
		var ids []string
		for n := range 60 {
			ids = append(ids, enqueue(t, nodes[n%3], queue.Request{Type: "work", ProjectID: string(rune('p' + n%5))}).Job.ID)
		}
		for _, id := range ids {
			if job := waitFinal(t, nodes[0], id); job.State != queue.Completed || job.Attempts != 1 {
				t.Errorf("ended as %+v", job)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if most > 2 || len(doubled) > 0 {
			t.Errorf("%d ran at once; doubled %v", most, doubled)
		}
	})
}

// runtimeYield keeps a handler busy briefly, so that runs overlap.
func runtimeYield() { <-time.After(2 * time.Millisecond) }

// The order of a burst: three interactive jobs, the aged background one, the rest. The burst outlives a restart.
func TestBurstIsDurable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		var (
			mu    sync.Mutex
			order []string
		)
		definitions := []queue.Definition{
			{Type: "work", Run: func(_ context.Context, run *queue.Run) (json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, string(run.Job().Payload))
				return nil, nil
			}}}
		young := func(o *queue.Options) { o.Policy.BackgroundAging = time.Hour }
		aged := func(o *queue.Options) { o.Policy.BackgroundAging = time.Nanosecond; o.Policy.Concurrency = 1 }
		q := s.start("n", definitions, young)
		put := func(name string, priority queue.Priority) string {
			return enqueue(t, q,
				queue.Request{Type: "work", Priority: priority, Payload: json.RawMessage(`{"n":"` + name + `"}`)}).Job.ID
		}
		for _, name := range []string{"i0", "i1"} {
			waitFinal(t, q, put(name, queue.Interactive))
		}
		stop(t, q)
		// All of these jobs are queued when the next process starts.
		g := newGate()
		q = s.start("n", append(definitions, queue.Definition{Type: "hold", Run: g.run}), aged)
		hold := enqueue(t, q, queue.Request{Type: "hold", ProjectID: "holder"}).Job.ID
		g.waitBegun(t)
		var ids []string
		for _, name := range []string{"i2", "i3", "i4"} {
			ids = append(ids, put(name, queue.Interactive))
		}
		ids = append(ids, put("bg", queue.Background))
		close(g.open)
		for _, id := range append(ids, hold) {
			waitFinal(t, q, id)
		}
		want := []string{`{"n":"i0"}`, `{"n":"i1"}`, `{"n":"i2"}`, `{"n":"bg"}`, `{"n":"i3"}`, `{"n":"i4"}`}
		if !reflect.DeepEqual(order, want) {
			t.Errorf("order %v", order)
		}
	})
}

// Stop lets a short job finish, ends a long one as "shutdown" and one that ignores its context as "shutdown_timeout";
// queued ones stay.
func TestStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		began, release := make(chan struct{}, 9), make(chan struct{})
		t.Cleanup(func() { close(release) })
		g := newGate()
		definitions := []queue.Definition{
			{Type: "deaf", Cancel: queue.InterruptTurn, Run: deaf(began, release)},
			{Type: "polite", Cancel: queue.InterruptTurn, Run: g.run},
			{Type: "short", Run: func(ctx context.Context, _ *queue.Run) (json.RawMessage, error) {
				began <- struct{}{}
				select {
				case <-time.After(30 * time.Millisecond):
					return nil, nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}},
		}
		// Both waits are long enough even on a busy machine.
		q := s.start("n", definitions, func(o *queue.Options) {
			o.Policy.Concurrency, o.Drain, o.Policy.CancelGrace = 3, 2*time.Second, 2*time.Second
		})
		ids := map[string]string{}
		for _, kind := range []string{"deaf", "polite", "short"} {
			ids[kind] = enqueue(t, q, queue.Request{Type: kind, ProjectID: kind}).Job.ID
		}
		ids["queued"] = enqueue(t, q, queue.Request{Type: "short", ProjectID: "deaf"}).Job.ID
		<-began
		<-began
		g.waitBegun(t)
		stop(t, q)
		stop(t, q)
		for name, want := range map[string]string{"deaf": "canceled shutdown_timeout", "polite": "canceled shutdown",
			"short": "completed ", "queued": "queued "} {
			job, err := q.Job(t.Context(), ids[name])
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			if job.Error != nil {
				reason = *job.Error
			}
			if got := string(job.State) + " " + reason; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		s.waitEvent(ids["deaf"], "orchestrator_job_canceled")
		s.waitEvent(ids["polite"], "orchestrator_job_canceled")
	})
}

// A contribution commits with its job or is rolled back with it; a failed one does not keep the job from ending.
func TestContributions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		broken := errors.New("broken")
		note := func(name string) queue.Contribution {
			return func(ctx context.Context, tx database.Tx, job queue.Job) ([]journal.Event, error) {
				if string(job.Payload) == `{"break":"`+name+`"}` {
					return nil, broken
				}
				return []journal.Event{{Type: "note." + name, Payload: json.RawMessage(`{"jobId":"` + job.ID + `"}`)}}, nil
			}
		}
		q := s.start("n", []queue.Definition{{Type: "work", Run: done, OnQueued: note("queued"), OnStarted: note("started"),
			OnTerminal: note("terminal")}})
		job := enqueue(t, q, queue.Request{Type: "work"}).Job
		waitFinal(t, q, job.ID)
		want := []string{"note.queued", "orchestrator_job_queued", "note.started", "orchestrator_job_started",
			"note.terminal", "orchestrator_job_completed"}
		if got := s.names(job.ID); !reflect.DeepEqual(got, want) {
			t.Errorf("events %v", got)
		}
		for _, name := range []string{"started", "terminal"} {
			job := enqueue(t, q, queue.Request{Type: "work", Payload: json.RawMessage(`{"break":"` + name + `"}`)}).Job
			if ended := waitFinal(t, q, job.ID); ended.State != queue.Completed {
				t.Errorf("broken %s: %s", name, ended.State)
			}
		}
		if _, err := q.Enqueue(t.Context(),
			queue.Request{Type: "work", ProjectID: "p", Payload: json.RawMessage(`{"break":"queued"}`)}); !errors.Is(
			err, broken) {
			t.Errorf("broken queued: %v", err)
		}
	})
}

func TestWaitForTerminalGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q, _ := slow(s, dedupes())
		job := enqueue(t, q, queue.Request{Type: "none"}).Job
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if got, err := q.WaitForTerminal(ctx, job.ID); !errors.Is(err, context.DeadlineExceeded) || got.ID != job.ID {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := q.WaitForTerminal(t.Context(), "nope"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("unknown job: %v", err)
		}
	})
}

// stoppable adapts the queue to the stress kit.
type stoppable struct{ *queue.Queue }

func (s stoppable) Stop() error { return s.Queue.Stop(context.Background()) }

func TestStartStopStress(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	j := startJournal(t, db)
	lifecycletest.Stress(t, func() lifecycletest.Service {
		return stoppable{queue.New(queue.Options{Journal: j, DB: db, NodeID: "n", Logger: zerolog.Nop()})}
	})
}
