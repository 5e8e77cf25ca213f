package jobs

import (
	"net/http"
	"reflect"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// QU-01, QU-02, QU-04, QU-09 end to end: a hidden worker creates a suggestion. The stream publishes it, both routes
// return it, and it survives a restart. The job, its worker and the health figures agree.
func TestQU09ASuggestedRequest(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			// The deadline is long enough for a busy machine. The next test covers a missed deadline.
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
			server := s.Start()
			session := server.CreateSession(nil)
			events := server.Follow("threadId=" + session)
			events.WaitTurn(server.Send(session, "MOCK_REPLY[Now run the tests.]"))

			queued := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
				programtest.Object{})
			id := programtest.Text(queued, "jobId")
			if programtest.Text(queued, "dedupe") != "enqueued" || programtest.Text(queued, "projectId") != "session:"+session {
				t.Errorf("answered %v", queued)
			}
			done := events.WaitType("orchestrator_job_completed").Decoded()
			if programtest.Text(done, "jobId") != id || programtest.Text(done, "result", "suggestion") != "Now run the tests." ||
				programtest.Text(done, "result", "status") != "ok" {
				t.Errorf("completed with %v", done)
			}
			var got []string
			for _, f := range events.All() {
				switch f.Type {
				case "suggested_request_updated":
					got = append(got, programtest.Text(f.Decoded(), "status"))
					if programtest.Text(f.Decoded(), "requestKey") != programtest.Text(queued, "requestKey") {
						t.Errorf("another key: %v", f.Decoded())
					}
				case "orchestrator_job_queued", "orchestrator_job_started", "orchestrator_job_completed":
					got = append(got, f.Type)
				}
			}
			want := []string{"streaming", "orchestrator_job_queued", "orchestrator_job_started", "complete",
				"orchestrator_job_completed"}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("published %v", got)
			}

			ok := server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request",
				programtest.Object{"draft": "MOCK_REPLY[Better.]"})
			// the chat's marker comes first in the worker's input
			if programtest.Text(ok, "status") != "ok" || programtest.Text(ok, "suggestion") != "Now run the tests." {
				t.Errorf("synchronous: %v", ok)
			}
			workers := programtest.List(t, server, "/api/projects/session:"+session+"/agent-sessions")
			if len(workers) != 1 || programtest.Text(workers[0], "agent") != "supervisor" || workers[0]["systemOwned"] != true {
				t.Fatalf("workers %v", workers)
			}
			for _, listed := range programtest.List(t, server, "/api/sessions") {
				if listed["sessionId"] != session {
					t.Errorf("the worker shows in the list: %v", listed)
				}
			}
			if jobs := programtest.List(t, server, "/api/projects/session:"+session+"/orchestrator/jobs?state=completed"); len(jobs) != 2 ||
				jobs[0]["id"] != id {
				t.Errorf("jobs %v", jobs)
			}
			health := server.Want(http.StatusOK, http.MethodGet, "/api/health", nil)
			if figures, _ := health["orchestratorQueue"].(programtest.Object); figures["enabled"] != true || figures["completed"] != 2.0 ||
				figures["projects"] != 1.0 {
				t.Errorf("health %v", health["orchestratorQueue"])
			}

			server.Kill()
			server = s.Start()
			job := server.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+id, nil)
			if programtest.Text(job, "job", "result", "suggestion") != "Now run the tests." {
				t.Errorf("after the restart %v", job)
			}
			server.Want(http.StatusConflict, http.MethodPost, "/api/orchestrator/jobs/"+id+"/cancel", nil)
			again := server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request", programtest.Object{})
			if programtest.Text(again, "status") != "ok" {
				t.Errorf("after the restart %v", again)
			}
			if after := programtest.List(t, server, "/api/projects/session:"+session+"/agent-sessions"); !reflect.DeepEqual(after, workers) {
				t.Errorf("the worker was replaced: %v, before %v", after, workers)
			}
		})
	}
}

// If a worker does not respond in time, the suggestion is the deterministic text, and the worker's turn is
// interrupted. A canceled request reports this.
func TestSuggestedRequestDeadlineAndCancel(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=4000"))
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	fallback := server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request",
		programtest.Object{"draft": "MOCK_HOLD[never]"})
	if programtest.Text(fallback, "status") != "fallback" || programtest.Text(fallback, "suggestion") != "MOCK_HOLD[never]" {
		t.Errorf("answered %v", fallback)
	}
	if completed := events.WaitType("orchestrator_job_completed").Decoded(); programtest.Text(completed, "result", "status") != "fallback" {
		t.Errorf("completed with %v", completed)
	}

	queued := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
		programtest.Object{"draft": "MOCK_HOLD[never]"})
	same := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs", programtest.Object{})
	if programtest.Text(same, "dedupe") != "already_queued" || programtest.Text(same, "requestKey") != programtest.Text(queued, "requestKey") ||
		programtest.Text(same, "jobId") != programtest.Text(queued, "jobId") {
		t.Errorf("%v, then %v", queued, same)
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/orchestrator/jobs/"+programtest.Text(queued, "jobId")+"/cancel", nil)
	events.Wait("the canceled suggestion", func(f programtest.Frame) bool {
		return f.Type == "suggested_request_updated" && programtest.Text(f.Decoded(), "requestKey") == programtest.Text(queued, "requestKey") &&
			programtest.Text(f.Decoded(), "status") == "canceled"
	})
	events.Wait("the cancel", func(f programtest.Frame) bool {
		return f.Type == "orchestrator_job_canceled" && programtest.Text(f.Decoded(), "jobId") == programtest.Text(queued, "jobId")
	})
}

// With the queue off, suggestions by other clients are still stored and published. Everything else returns 503.
func TestQueueSwitchedOff(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("ORCHESTRATOR_QUEUE_ENABLED=false"))
	server := s.Start()
	session := server.CreateSession(nil)
	base := "/api/sessions/" + session + "/suggested-request"
	for _, path := range []string{base, base + "/jobs"} {
		if refused := server.Want(http.StatusServiceUnavailable, http.MethodPost, path, programtest.Object{"effort": "zz"}); programtest.Text(refused,
			"code") != "job_conflict" {
			t.Errorf("%s: %v", path, refused)
		}
	}
	events := server.Follow("threadId=" + session)
	kept := server.Want(http.StatusOK, http.MethodPost, base+"/upsert",
		programtest.Object{"requestKey": "k", "status": "complete", "suggestion": " final "})
	if programtest.Text(kept, "entry", "suggestion") != "final" ||
		programtest.Text(events.WaitType("suggested_request_updated").Decoded(), "suggestion") != "final" {
		t.Errorf("kept %v", kept)
	}
	late := server.Want(http.StatusOK, http.MethodPost, base+"/upsert", programtest.Object{"requestKey": "k", "status": "streaming"})
	if programtest.Text(late, "entry", "status") != "complete" {
		t.Errorf("reopened: %v", late)
	}
	server.Want(http.StatusBadRequest, http.MethodPost, base+"/upsert", programtest.Object{"requestKey": "k2", "status": "complete"})
	failed := server.Want(http.StatusOK, http.MethodPost, base+"/upsert", programtest.Object{"requestKey": "k3", "status": "error"})
	if programtest.Text(failed, "entry", "error") != "suggested request generation failed" {
		t.Errorf("failed as %v", failed)
	}
}
