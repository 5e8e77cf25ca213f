package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"harness/queue"
	"harness/tests/dbtest"
)

// cancelCase is one cell of the cancel matrix and its expected outcome.
type cancelCase struct {
	name    string
	mode    queue.CancelMode
	handler string // polite, deaf, or succeeds (returns success once interrupted)
	state   queue.State
	reason  string
	// answered is the job's state in the response to the cancel.
	answered queue.State
	// forced: the job ends after the grace period, not before.
	forced bool
}

// The cancel matrix: queued, running here and running on another node; handlers that cooperate, that ignore the cancel,
// or that succeed anyway; and cancels after the end. Every job ends within the grace period and a quarter of a second.
func TestQU06CancelMatrix(t *testing.T) {
	t.Parallel()
	cases := []cancelCase{
		{"polite marked", queue.MarkCanceled, "polite", queue.Canceled, "api_cancel", queue.Canceled, false},
		{"deaf marked", queue.MarkCanceled, "deaf", queue.Canceled, "api_cancel", queue.Canceled, false},
		{"polite interrupted", queue.InterruptTurn, "polite", queue.Canceled, "cancel_requested", queue.Running, false},
		{"succeeds when interrupted", queue.InterruptTurn, "succeeds", queue.Canceled, "cancel_requested",
			queue.Running, false},
		{"deaf interrupted", queue.InterruptTurn, "deaf", queue.Canceled, "interrupt_timeout", queue.Running, true},
	}
	for _, engine := range dbtest.Engines() {
		for _, c := range cases {
			for _, elsewhere := range []bool{false, true} {
				name := string(engine) + "/" + c.name + "/same node"
				if elsewhere {
					name = string(engine) + "/" + c.name + "/other node"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					cancelRunning(t, newStore(t, dbtest.Open(t, engine)), c, elsewhere)
				})
			}
		}
	}
}

// Under the race detector and parallel load, a handler that cooperates may need longer to end.
const (
	slowness = 1 + 3*min(1, queue.Shortened-1)
	grace    = slowness * 1500 * time.Millisecond
	slack    = slowness * slowness * 250 * time.Millisecond
)

func cancelRunning(t *testing.T, s *store, c cancelCase, elsewhere bool) {
	began, interrupted, release := make(chan struct{}, 1), make(chan queue.Job, 1), make(chan struct{})
	defer close(release)
	definition := queue.Definition{Type: "work", Cancel: c.mode,
		Interrupt: func(_ context.Context, job queue.Job) error {
			interrupted <- job
			return nil
		},
		Run: func(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
			if err := run.SetContext(ctx, "thread-1", "turn-1", nil); err != nil {
				return nil, err
			}
			began <- struct{}{}
			switch c.handler {
			case "deaf":
				<-release
			case "succeeds", "polite":
				select {
				case <-interrupted:
				case <-ctx.Done():
				}
				if c.handler == "polite" {
					return nil, errors.New("turn interrupted")
				}
			}
			return json.RawMessage(`{"status":"ok"}`), nil
		}}
	full := func(o *queue.Options) { o.Policy.CancelGrace = grace }
	runner := s.start("runner", []queue.Definition{definition}, full)
	canceler := runner
	job := enqueue(t, runner, queue.Request{Type: "work"}).Job
	<-began
	if elsewhere {
		// A second process on the same store: another journal and another queue, which never runs the job.
		canceler = s.openOn(startJournal(t, s.db), "other", []queue.Definition{definition}, full)
		if err := canceler.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now()
	answer, err := canceler.Cancel(t.Context(), job.ID, "api_cancel")
	if err != nil {
		t.Fatal(err)
	}
	if answer.State != c.answered || (answer.State == queue.Running) != (answer.CompletedAt == nil) ||
		answer.CancelRequestedAt == nil {
		t.Errorf("answered %+v", answer)
	}
	ended := waitFinal(t, canceler, job.ID)
	took := time.Since(at)
	if ended.State != c.state || *ended.Error != c.reason || ended.Result != nil {
		t.Errorf("ended %s %s", ended.State, *ended.Error)
	}
	if took > grace+slack || c.forced && took < grace {
		t.Errorf("took %s", took)
	}
	if payload := s.waitEvent(job.ID, "orchestrator_job_canceled"); payload["error"] != c.reason {
		t.Errorf("event %v", payload)
	}
	var over *queue.TerminalError
	if _, err := canceler.Cancel(t.Context(), job.ID, "again"); !errors.As(err, &over) ||
		over.Job.State != queue.Canceled {
		t.Errorf("canceled again: %v", err)
	}
	if names := s.names(job.ID); names[len(names)-1] != "orchestrator_job_canceled" {
		t.Errorf("events %v", names)
	}
}

// Canceling a queued job ends it immediately. Canceling an ended job reports that it ended, and an unknown job is an
// error.
func TestCancelQueuedAndOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q, g := slow(s, append(dedupes(), queue.Definition{Type: "interrupts", Cancel: queue.InterruptTurn, Run: done}))
		for _, kind := range []string{"none", "interrupts"} {
			job := enqueue(t, q, queue.Request{Type: kind}).Job
			canceled, err := q.Cancel(t.Context(), job.ID, "api_cancel")
			if err != nil || canceled.State != queue.Canceled || *canceled.Error != "api_cancel" || canceled.StartedAt != nil {
				t.Errorf("canceled as %+v, %v", canceled, err)
			}
			s.waitEvent(job.ID, "orchestrator_job_canceled")
		}
		job := enqueue(t, q, queue.Request{Type: "none"}).Job
		close(g.open)
		waitFinal(t, q, job.ID)
		var over *queue.TerminalError
		if _, err := q.Cancel(t.Context(), job.ID, "late"); !errors.As(err, &over) || over.Job.State != queue.Completed {
			t.Errorf("after success: %v", err)
		}
		if _, err := q.Cancel(t.Context(), "nope", "x"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("unknown: %v", err)
		}
	})
}
