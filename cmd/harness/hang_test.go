package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// A codex that stops in the middle of turns is told as unresponsive wherever its state is read, and then replaced: its
// turns are interrupted with a remedy, its approvals expire, clients hear of both, and the session goes on.
func TestAHangingRuntimeIsToldAndReplaced(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start("HARNESS_RUNTIME_HANG_MS=4000")
		server.waitRuntime()
		session := server.createSession(object{"approvalPolicy": "untrusted"})
		events := server.follow("threadId=" + session)
		turn := server.send(session, "MOCK_CMD[touch never]")
		approval := text(events.waitType("approval").payload(), "approvalId")

		health := func() object {
			_, body := server.call(http.MethodGet, "/api/health", nil)
			return body["codex"].(object)
		}
		before := health()
		if err := syscall.Kill(int(before["pid"].(float64)), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		server.eventually("health says that codex is unresponsive", func() bool {
			return text(health(), "state") == "unresponsive"
		})
		if state := text(server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session",
			"state"); state != "unresponsive" {
			t.Errorf("the session is %s", state)
		}
		if metrics := server.metrics(); !strings.Contains(metrics, "harness_runtime_unresponsive 1") {
			t.Error("the metrics do not say that codex is unresponsive")
		}

		resolved := events.waitType("approval_resolved").payload()
		if text(resolved, "approvalId") != approval || text(resolved, "status") != "expired" {
			t.Errorf("the approval ended %v", resolved)
		}
		if status := events.waitTurn(turn); status != "interrupted" {
			t.Errorf("the turn ended %s", status)
		}
		failure := text(entry(t, server.transcript(session), "turn.error"), "content")
		if !strings.Contains(failure, "it did not answer for 4s") || !strings.Contains(failure, "Send the message again.") {
			t.Errorf("the transcript says %q", failure)
		}
		if status, _ := server.call(http.MethodPost, "/api/approvals/"+approval+"/decision",
			object{"decision": "accept"}); status != http.StatusNotFound {
			t.Errorf("deciding an approval that ended: %d", status)
		}
		if status := events.waitTurn(server.send(session, "MOCK_REPLY[fine again]")); status != "completed" {
			t.Errorf("the next turn ended %s", status)
		}
		if metrics := server.metrics(); !strings.Contains(metrics, "harness_runtime_unresponsive 0") ||
			!strings.Contains(metrics, "harness_runtime_hangs_total 1") {
			t.Error("the metrics do not tell of the hang that was mended")
		}
	})
}
