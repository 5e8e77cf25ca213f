package transcripts

import (
	"net/http"
	"testing"

	"harness/tests/programtest"
)

// A running turn cannot be rolled back, on any codex. After its end it can.
func TestRollbackWaitsForTheTurn(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		events := server.Follow("threadId=" + session)
		events.WaitTurn(server.Send(session, "first"))
		turn := server.Send(session, "MOCK_HOLD[go]")
		if err := s.Model.WaitHeld(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		path := "/api/sessions/" + session + "/rollback"
		if answer := server.Want(http.StatusConflict, http.MethodPost, path, programtest.Object{}); answer["code"] != "invalid_state" {
			t.Errorf("refused with %v", answer)
		}
		s.Model.Release("go")
		if status := events.WaitTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		server.Want(http.StatusOK, http.MethodPost, path, programtest.Object{})
		server.Stop()
	})
}
