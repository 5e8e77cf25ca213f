package main

import (
	"net/http"
	"testing"
)

// A turn that runs is not taken back under its hands, whichever codex does it; once it is over it can be.
func TestRollbackWaitsForTheTurn(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(nil)
		events := server.follow("threadId=" + session)
		events.waitTurn(server.send(session, "first"))
		turn := server.send(session, "MOCK_HOLD[go]")
		if err := s.model.WaitHeld(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		path := "/api/sessions/" + session + "/rollback"
		if answer := server.want(http.StatusConflict, http.MethodPost, path, object{}); answer["code"] != "invalid_state" {
			t.Errorf("refused with %v", answer)
		}
		s.model.Release("go")
		if status := events.waitTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		server.want(http.StatusOK, http.MethodPost, path, object{})
		server.stop()
	})
}
