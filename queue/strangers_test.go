package queue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/queue"
	"harness/tests/polling"
)

// lines is a log that is safe for concurrent writes and reads.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.out.String(), part)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !polling.Until(patience, condition) {
		t.Fatal("in vain: " + what)
	}
}

// A node that lacks a job type neither starts nor ends jobs of it: not when it starts, not when it polls, not when it
// is the only node. Such jobs wait for a node that has the type, use no capacity of other jobs, and stay visible; they
// can be canceled.
func TestANodeLeavesTypesItLacksAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		ended := func(_ context.Context, _ database.Tx, job queue.Job) ([]journal.Event, error) {
			return []journal.Event{{Type: "reconciled", Payload: json.RawMessage(`{"jobId":"` + job.ID + `"}`)}}, nil
		}
		knowing := []queue.Definition{{Type: "x", Run: g.run, OnTerminal: ended, Cancel: queue.InterruptTurn}}
		var log lines
		logged := func(o *queue.Options) {
			o.Logger = zerolog.New(&log)
			o.Policy.MaxGlobal, o.Policy.MaxPerProject, o.Policy.Concurrency = 3, 2, 3
		}
		first := s.start("b", knowing)
		enqueue(t, first, queue.Request{Type: "x"})
		g.waitBegun(t)
		running := enqueue(t, first, queue.Request{Type: "x", ProjectID: "r"}).Job.ID
		g.waitBegun(t)
		waiting := enqueue(t, first, queue.Request{Type: "x", DedupeKey: pointer("k")}).Job.ID
		doomed := enqueue(t, first, queue.Request{Type: "x"}).Job.ID

		other := s.openOn(startJournal(t, s.db), "a", []queue.Definition{{Type: "y", Run: done}}, logged)
		if err := other.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the other node has seen them", func() bool { return other.Unrunnable()["x"] == 2 })
		// The node's own jobs run beside them, in the same project once it is free, and the waiting jobs do not use up
		// their capacity.
		if job := waitFinal(t, other, enqueue(t, other, queue.Request{Type: "y", ProjectID: "q"}).
			Job.ID); job.State != queue.Completed {
			t.Errorf("its own job ended %s", job.State)
		}
		own := enqueue(t, other, queue.Request{Type: "y"}).Job.ID
		if _, err := other.Enqueue(t.Context(),
			queue.Request{Type: "x", ProjectID: "p", Payload: json.RawMessage(`{}`)}); code(err) != queue.CodeUnknownType {
			t.Errorf("enqueued what it cannot run: %v", err)
		}
		if canceled, err := other.Cancel(t.Context(), doomed, "api_cancel"); err != nil || canceled.State != queue.Canceled {
			t.Errorf("canceled as %s, %v", canceled.State, err)
		}
		s.waitEvent(doomed, "reconciled") // by the node that knows the type
		if asked, err := other.Cancel(t.Context(), running, "api_cancel"); err != nil || asked.State != queue.Running ||
			asked.CancelRequestedAt == nil {
			t.Errorf("a running one was canceled as %+v, %v", asked, err)
		}
		if job := waitFinal(t, other, running); job.State != queue.Canceled {
			t.Errorf("the running one ended %s", job.State)
		}
		stop(t, first) // this stops its run too: the project is free
		if job := waitFinal(t, other, own); job.State != queue.Completed {
			t.Errorf("its own job in their project ended %s", job.State)
		}
		if job, err := other.Job(t.Context(), waiting); err != nil || job.State.Final() {
			t.Fatalf("without a node that runs it, it is %s, %v", job.State, err)
		}

		close(g.open)
		back := s.start("b", knowing)
		if job := waitFinal(t, back, waiting); job.State != queue.Completed {
			t.Errorf("run at last, it ended %s %v", job.State, job.Error)
		}
		eventually(t, "none is left", func() bool { return len(other.Unrunnable()) == 0 })
		if n := log.count(`"type":"x"`); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// A job of an unknown type that a dead node left running is queued again, so that its project is free. With no attempt
// left it ends, and a node that knows the type reconciles it.
func TestAbandonedJobsOfUnknownTypes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		defer close(g.open)
		deadJournal := startJournal(t, s.db)
		dead := s.openOn(deadJournal, "b",
			[]queue.Definition{
				{Type: "x", Run: g.run, OnTerminal: func(context.Context, database.Tx, queue.Job) ([]journal.Event, error) {
					return nil, nil
				}}}, func(o *queue.Options) { o.Lease = time.Second })
		if err := dead.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		left := enqueue(t, dead, queue.Request{Type: "x"}).Job.ID
		g.waitBegun(t)
		last := enqueue(t, dead, queue.Request{Type: "x", ProjectID: "q", MaxAttempts: 1}).Job.ID
		g.waitBegun(t)
		// Without its journal the process can no longer change anything, as if it had been killed.
		if err := deadJournal.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := s.start("a", []queue.Definition{{Type: "y", Run: done}})
		if job := waitFinal(t, other, enqueue(t, other, queue.Request{Type: "y"}).Job.ID); job.State != queue.Completed {
			t.Errorf("the next job of the project ended %s", job.State)
		}
		if job, err := other.Job(t.Context(), left); err != nil || job.State != queue.Queued || job.Attempts != 1 {
			t.Errorf("left as %s after %d attempts, %v", job.State, job.Attempts, err)
		}
		if job := waitFinal(t, other, last); job.State != queue.Failed || *job.Error != "recovery_max_attempts_exceeded" {
			t.Errorf("without attempts it ended %s", job.State)
		}
		if names := s.names(left); slices.Contains(names, "orchestrator_job_failed") {
			t.Errorf("reported as failed: %v", names)
		}
	})
}
