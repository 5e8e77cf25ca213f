package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"harness/queue"
)

// QU-01, QU-02, QU-04, QU-07: a job that succeeds is queued, started and completed with its result, in its source
// session.
func TestQU01QU02QU04QU07LifeOfAJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.start("n", []queue.Definition{{Type: "work", Run: done}})
		job := enqueue(t, q, queue.Request{Type: "work", ProjectID: "p", SourceSessionID: pointer("s-1")}).Job
		ended := waitFinal(t, q, job.ID)
		if ended.State != queue.Completed || ended.Attempts != 1 || ended.ID != job.ID || ended.CreatedAt != job.CreatedAt ||
			ended.StartedAt == nil || ended.CompletedAt == nil {
			t.Errorf("ended as %+v", ended)
		}
		want := []string{"orchestrator_job_queued", "orchestrator_job_started", "orchestrator_job_completed"}
		if got := s.names(job.ID); !reflect.DeepEqual(got, want) {
			t.Fatalf("events %v", got)
		}
		payloads := []string{
			`{"jobId":"` + job.ID + `","projectId":"p","jobType":"work","state":"queued","sourceSessionId":"s-1"}`,
			`{"jobId":"` + job.ID + `","projectId":"p","jobType":"work","state":"running","sourceSessionId":"s-1"}`,
			`{"jobId":"` + job.ID +
				`","projectId":"p","jobType":"work","state":"completed","sourceSessionId":"s-1","result":{"status":"ok"}}`,
		}
		for i, record := range s.jobEvents(job.ID) {
			if string(record.Payload) != payloads[i] || record.SessionID != "s-1" {
				t.Errorf("event %d in session %q: %s", i, record.SessionID, record.Payload)
			}
		}
	})
}

// The members of a job and their order are those of the recorded server (golden "jobs").
func TestJobOnTheWire(t *testing.T) {
	t.Parallel()
	at := int64(1795224595754)
	got, err := json.Marshal(queue.Job{ID: "j", Type: "agent_instruction", Version: 1, ProjectID: "session:s",
		SourceSessionID: pointer("s"), Priority: queue.Interactive, State: queue.Completed, DedupeKey: pointer("k"),
		Payload: json.RawMessage(`{"a":1}`), Result: json.RawMessage(`{"status":"ok"}`), Attempts: 1, MaxAttempts: 2,
		CreatedAt: at, StartedAt: &at, CompletedAt: &at, LastAttemptAt: &at})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"j","type":"agent_instruction","version":1,"projectId":"session:s","sourceSessionId":"s",` +
		`"priority":"interactive","state":"completed","dedupeKey":"k",` +
		`"payload":{"a":1},"result":{"status":"ok"},"error":null,"attempts":1,"maxAttempts":2,` +
		`"createdAt":"2026-11-21T01:29:55.754Z","startedAt":"2026-11-21T01:29:55.754Z",` +
		`"completedAt":"2026-11-21T01:29:55.754Z","cancelRequestedAt":null,"nextAttemptAt":null,` +
		`"lastAttemptAt":"2026-11-21T01:29:55.754Z","runningContext":{"threadId":null,"turnId":null}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// QU-03: progress events contain the handler's reports. Reports in quick succession become few events, including the
// last report.
func TestQU03ProgressIsBoundedAndCoalesced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.start("n", []queue.Definition{
			{Type: "work", Run: func(_ context.Context, run *queue.Run) (json.RawMessage, error) {
				run.Progress(json.RawMessage(`{"step":0}`))
				run.Progress(json.RawMessage(`not json`))
				run.Progress(make(json.RawMessage, 1<<20))
				for range 1000 {
					run.Progress(json.RawMessage(`{"step":1}`))
				}
				run.Progress(json.RawMessage(`{"step":2}`))
				return nil, nil
			}}})
		job := enqueue(t, q, queue.Request{Type: "work"}).Job
		waitFinal(t, q, job.ID)
		var reports []any
		for _, record := range s.jobEvents(job.ID) {
			if record.Type != "orchestrator_job_progress" {
				continue
			}
			var payload struct {
				State    string
				Progress map[string]any
			}
			if err := json.Unmarshal(record.Payload, &payload); err != nil || payload.State != "running" {
				t.Errorf("progress %s: %v", record.Payload, err)
			}
			reports = append(reports, payload.Progress["step"])
		}
		if len(reports) == 0 || len(reports) > 3 || reports[len(reports)-1] != 2.0 {
			t.Errorf("reports %v", reports)
		}
		if names := s.names(job.ID); names[len(names)-1] != "orchestrator_job_completed" {
			t.Errorf("events %v", names)
		}
	})
}

// QU-05: the event of a permanently failed job contains the reason.
func TestQU05Failure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.start("n", []queue.Definition{
			{Type: "work", Run: func(context.Context, *queue.Run) (json.RawMessage, error) {
				return nil, errors.New("no such file")
			}},
			{Type: "panics", Run: func(context.Context, *queue.Run) (json.RawMessage, error) { panic("boom") }},
		})
		job := enqueue(t, q, queue.Request{Type: "work"}).Job
		ended := waitFinal(t, q, job.ID)
		if ended.State != queue.Failed || *ended.Error != "no such file" || ended.Attempts != 1 {
			t.Errorf("ended as %+v", ended)
		}
		if payload := s.waitEvent(job.ID, "orchestrator_job_failed"); payload["error"] != "no such file" ||
			payload["state"] != "failed" {
			t.Errorf("payload %v", payload)
		}
		ended = waitFinal(t, q, enqueue(t, q, queue.Request{Type: "panics"}).Job.ID)
		if ended.State != queue.Failed || *ended.Error != "job handler panicked: boom" {
			t.Errorf("a panic ended as %+v", ended)
		}
	})
}

// QU-06: a canceled job is reported as canceled, and no event of it follows, whatever its handler still does.
func TestQU06NothingFollowsACancel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		began, returned := make(chan struct{}), make(chan struct{})
		q := s.start("n", []queue.Definition{
			{Type: "work", Run: func(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
				if run.Job().ProjectID == "p" {
					defer close(returned)
					close(began)
				}
				<-ctx.Done()
				run.Progress(json.RawMessage(`{"late":true}`))
				return json.RawMessage(`{"late":true}`), nil
			}}})
		job := enqueue(t, q, queue.Request{Type: "work"}).Job
		<-began
		if _, err := q.Cancel(t.Context(), job.ID, "api_cancel"); err != nil {
			t.Fatal(err)
		}
		<-returned
		enqueueAndWait(t, s, q)
		want := []string{"orchestrator_job_queued", "orchestrator_job_started", "orchestrator_job_canceled"}
		if got := s.names(job.ID); !reflect.DeepEqual(got, want) {
			t.Errorf("events %v", got)
		}
	})
}

// enqueueAndWait runs a second job to its end, so that all pending writes of the first one are committed before.
func enqueueAndWait(t *testing.T, s *store, q *queue.Queue) {
	t.Helper()
	job := enqueue(t, q, queue.Request{Type: "work", ProjectID: "flush"}).Job
	s.waitEvent(job.ID, "orchestrator_job_started")
	if _, err := q.Cancel(t.Context(), job.ID, "flush"); err != nil {
		var over *queue.TerminalError
		if !errors.As(err, &over) {
			t.Fatal(err)
		}
	}
	waitFinal(t, q, job.ID)
}

// QU-08: a job without source session has no thread.
func TestQU08NoSourceSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.start("n", []queue.Definition{{Type: "work", Run: done}})
		job := enqueue(t, q, queue.Request{Type: "work"}).Job
		waitFinal(t, q, job.ID)
		for _, record := range s.jobEvents(job.ID) {
			var payload map[string]any
			if err := json.Unmarshal(record.Payload, &payload); err != nil || record.SessionID != "" ||
				payload["sourceSessionId"] != nil {
				t.Errorf("%s in session %q: %s", record.Type, record.SessionID, record.Payload)
			}
		}
	})
}
