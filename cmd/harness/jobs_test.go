package main

import (
	"net/http"
	"reflect"
	"testing"

	"harness/internal/dbtest"
)

// QU-01, QU-02, QU-04, QU-09 end to end: a suggestion is made by a hidden worker, told over the stream, answered by
// both routes and kept over a restart; the job, its worker and the health figures tell the same.
func TestQU09ASuggestedRequest(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			// In time however busy the machine is: what being late does, the next test shows.
			s := newSite(t, withEngine(engine), withEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
			server := s.start()
			session := server.createSession(nil)
			events := server.follow("threadId=" + session)
			events.waitTurn(server.send(session, "MOCK_REPLY[Now run the tests.]"))

			queued := server.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
				object{})
			id := text(queued, "jobId")
			if text(queued, "dedupe") != "enqueued" || text(queued, "projectId") != "session:"+session {
				t.Errorf("answered %v", queued)
			}
			done := events.waitType("orchestrator_job_completed").payload()
			if text(done, "jobId") != id || text(done, "result", "suggestion") != "Now run the tests." ||
				text(done, "result", "status") != "ok" {
				t.Errorf("completed with %v", done)
			}
			var told []string
			for _, f := range events.all() {
				switch f.Type {
				case "suggested_request_updated":
					told = append(told, text(f.payload(), "status"))
					if text(f.payload(), "requestKey") != text(queued, "requestKey") {
						t.Errorf("another key: %v", f.payload())
					}
				case "orchestrator_job_queued", "orchestrator_job_started", "orchestrator_job_completed":
					told = append(told, f.Type)
				}
			}
			want := []string{"streaming", "orchestrator_job_queued", "orchestrator_job_started", "complete",
				"orchestrator_job_completed"}
			if !reflect.DeepEqual(told, want) {
				t.Errorf("told %v", told)
			}

			ok := server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request",
				object{"draft": "MOCK_REPLY[Better.]"})
			// the chat's own marker comes first in what the worker reads
			if text(ok, "status") != "ok" || text(ok, "suggestion") != "Now run the tests." {
				t.Errorf("synchronous: %v", ok)
			}
			workers := list(t, server, "/api/projects/session:"+session+"/agent-sessions")
			if len(workers) != 1 || text(workers[0], "agent") != "supervisor" || workers[0]["systemOwned"] != true {
				t.Fatalf("workers %v", workers)
			}
			for _, listed := range list(t, server, "/api/sessions") {
				if listed["sessionId"] != session {
					t.Errorf("the worker shows in the list: %v", listed)
				}
			}
			if jobs := list(t, server, "/api/projects/session:"+session+"/orchestrator/jobs?state=completed"); len(jobs) != 2 ||
				jobs[0]["id"] != id {
				t.Errorf("jobs %v", jobs)
			}
			health := server.want(http.StatusOK, http.MethodGet, "/api/health", nil)
			if figures, _ := health["orchestratorQueue"].(object); figures["enabled"] != true || figures["completed"] != 2.0 ||
				figures["projects"] != 1.0 {
				t.Errorf("health %v", health["orchestratorQueue"])
			}

			server.kill()
			server = s.start()
			job := server.want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+id, nil)
			if text(job, "job", "result", "suggestion") != "Now run the tests." {
				t.Errorf("after the restart %v", job)
			}
			server.want(http.StatusConflict, http.MethodPost, "/api/orchestrator/jobs/"+id+"/cancel", nil)
			again := server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request", object{})
			if text(again, "status") != "ok" {
				t.Errorf("after the restart %v", again)
			}
			if after := list(t, server, "/api/projects/session:"+session+"/agent-sessions"); !reflect.DeepEqual(after, workers) {
				t.Errorf("the worker was replaced: %v, before %v", after, workers)
			}
		})
	}
}

// A worker that does not answer in time leaves the deterministic text, and its turn is interrupted; a canceled request
// says so.
func TestSuggestedRequestDeadlineAndCancel(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=4000"))
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	fallback := server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request",
		object{"draft": "MOCK_HOLD[never]"})
	if text(fallback, "status") != "fallback" || text(fallback, "suggestion") != "MOCK_HOLD[never]" {
		t.Errorf("answered %v", fallback)
	}
	if told := events.waitType("orchestrator_job_completed").payload(); text(told, "result", "status") != "fallback" {
		t.Errorf("completed with %v", told)
	}

	queued := server.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
		object{"draft": "MOCK_HOLD[never]"})
	same := server.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs", object{})
	if text(same, "dedupe") != "already_queued" || text(same, "requestKey") != text(queued, "requestKey") ||
		text(same, "jobId") != text(queued, "jobId") {
		t.Errorf("%v, then %v", queued, same)
	}
	server.want(http.StatusOK, http.MethodPost, "/api/orchestrator/jobs/"+text(queued, "jobId")+"/cancel", nil)
	events.wait("the canceled suggestion", func(f frame) bool {
		return f.Type == "suggested_request_updated" && text(f.payload(), "requestKey") == text(queued, "requestKey") &&
			text(f.payload(), "status") == "canceled"
	})
	events.wait("the cancel", func(f frame) bool {
		return f.Type == "orchestrator_job_canceled" && text(f.payload(), "jobId") == text(queued, "jobId")
	})
}

// With the queue off suggestions others make are still kept and told; everything else answers 503.
func TestQueueSwitchedOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("ORCHESTRATOR_QUEUE_ENABLED=false"))
	server := s.start()
	session := server.createSession(nil)
	base := "/api/sessions/" + session + "/suggested-request"
	for _, path := range []string{base, base + "/jobs"} {
		if refused := server.want(http.StatusServiceUnavailable, http.MethodPost, path, object{"effort": "zz"}); text(refused,
			"code") != "job_conflict" {
			t.Errorf("%s: %v", path, refused)
		}
	}
	events := server.follow("threadId=" + session)
	kept := server.want(http.StatusOK, http.MethodPost, base+"/upsert",
		object{"requestKey": "k", "status": "complete", "suggestion": " final "})
	if text(kept, "entry", "suggestion") != "final" ||
		text(events.waitType("suggested_request_updated").payload(), "suggestion") != "final" {
		t.Errorf("kept %v", kept)
	}
	late := server.want(http.StatusOK, http.MethodPost, base+"/upsert", object{"requestKey": "k", "status": "streaming"})
	if text(late, "entry", "status") != "complete" {
		t.Errorf("reopened: %v", late)
	}
	server.want(http.StatusBadRequest, http.MethodPost, base+"/upsert", object{"requestKey": "k2", "status": "complete"})
	failed := server.want(http.StatusOK, http.MethodPost, base+"/upsert", object{"requestKey": "k3", "status": "error"})
	if text(failed, "entry", "error") != "suggested request generation failed" {
		t.Errorf("failed as %v", failed)
	}
}

// list reads the data member of an answer.
func list(t *testing.T, server *instance, path string) []object {
	t.Helper()
	data, ok := server.want(http.StatusOK, http.MethodGet, path, nil)["data"].([]any)
	if !ok {
		t.Fatalf("%s has no data", path)
	}
	out := make([]object, len(data))
	for i, one := range data {
		out[i], _ = one.(object)
	}
	return out
}
