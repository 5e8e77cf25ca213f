package jobs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// ST-15, ST-16, ST-17: only the connection that subscribed to exactly this worker's thread receives the runtime's
// output for it. This covers everything from the first notification to those after its deletion: live, by cursor from
// the beginning, and by cursor after the server was killed.
func TestFramesOfAWorkerReachOnlyItsOwnSubscriber(t *testing.T) {
	t.Parallel()
	for _, version := range codextest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			framesOfAWorker(t, programtest.WithCodex(version))
		})
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		framesOfAWorker(t, programtest.WithEngine(dbtest.Engines()[len(dbtest.Engines())-1]))
	})
}

func framesOfAWorker(t *testing.T, options ...programtest.SiteOption) {
	s := programtest.New(t, append(options, programtest.WithEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))...)
	server := s.Start()
	session := server.CreateSession(nil)
	everything, named := server.Follow(""), server.Follow("view=console&threadIds="+session)
	everything.WaitTurn(server.Send(session, "MOCK_REPLY[Run the tests.]"))
	ok := server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request", programtest.Object{})
	if programtest.Text(ok, "status") != "ok" {
		t.Fatalf("no worker did the job: %v", ok)
	}
	workers := programtest.List(t, server, "/api/projects/session:"+session+"/agent-sessions")
	worker := programtest.Text(workers[0], "sessionId")
	// When a marker arrives, everything before it has arrived.
	marker := func(name string, followers ...*programtest.Follower) {
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert",
			programtest.Object{"messageId": name, "turnId": "t", "role": "system", "type": "note", "status": "complete",
				"content": name})
		for _, f := range followers {
			f.Wait(name, func(f programtest.Frame) bool {
				return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "messageId") == name
			})
		}
	}
	marker("live", everything, named)
	withhold(t, worker, everything, named)
	own := server.Follow("after=0&threadId=" + worker)
	own.Find("the end of the worker's turn", func(f programtest.Frame) bool {
		return f.ThreadID != nil && *f.ThreadID == worker && strings.Contains(f.Raw, `"turn/completed"`)
	})
	again := server.Follow("after=0")
	marker("resumed", again)
	withhold(t, worker, again)

	server.Kill()
	server = s.Start()
	after, deleted := server.Follow("after=0"), server.Follow("view=console&after=0")
	server.WaitRuntime()
	server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+session, nil) // and its workers with it
	session = server.CreateSession(nil)
	marker("deleted", after, deleted)
	withhold(t, worker, after, deleted)
}

// withhold fails for each frame of a thread that a connection received.
func withhold(t *testing.T, thread string, followers ...*programtest.Follower) {
	t.Helper()
	for i, f := range followers {
		for _, frame := range f.All() {
			if frame.ThreadID != nil && *frame.ThreadID == thread || strings.Contains(string(frame.Payload),
				fmt.Sprintf(`"threadId":"%s"`, thread)) {
				t.Errorf("connection %d received of the worker: %.300s", i, frame.Raw)
			}
		}
	}
}
