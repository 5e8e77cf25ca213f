package crashes

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime/process"
	"harness/tests/programtest"
)

// A codex that hangs during turns is reported as unresponsive in every view of its state, and then replaced. Its
// turns are interrupted with a remedy, its approvals expire, clients get events of both, and the session continues.
func TestAHangingRuntimeIsReportedAndReplaced(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start("HARNESS_RUNTIME_HANG_MS=4000")
		server.WaitRuntime()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_CMD[touch never]")
		approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")

		health := func() programtest.Object {
			_, body := server.Call(http.MethodGet, "/api/health", nil)
			return body["codex"].(programtest.Object)
		}
		before := health()
		pid := int(before["pid"].(float64))
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		server.Eventually("codex is suspended", func() bool { return process.Suspended(pid) })
		began := time.Now()
		unknown := fmt.Sprint(server.Want(http.StatusNotFound, http.MethodGet, "/api/sessions/01a21b01-0000-7000-8000-000000000001", nil))
		if took := time.Since(began); took > time.Second || !strings.Contains(unknown, "codex") || !strings.Contains(unknown, "suspended") {
			t.Errorf("an unknown session is answered after %s with %s", took, unknown)
		}
		server.Eventually("health says that codex is unresponsive", func() bool {
			return programtest.Text(health(), "state") == "unresponsive"
		})
		if state := programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session",
			"state"); state != "unresponsive" {
			t.Errorf("the session is %s", state)
		}
		if metrics := server.Metrics(); !strings.Contains(metrics, "harness_runtime_unresponsive 1") {
			t.Error("the metrics do not say that codex is unresponsive")
		}

		resolved := events.WaitType("approval_resolved").Decoded()
		if programtest.Text(resolved, "approvalId") != approval || programtest.Text(resolved, "status") != "expired" {
			t.Errorf("the approval ended %v", resolved)
		}
		if status := events.WaitTurn(turn); status != "interrupted" {
			t.Errorf("the turn ended %s", status)
		}
		failure := programtest.Text(programtest.Entry(t, server.Transcript(session), "turn.error"), "content")
		if !strings.Contains(failure, "it did not answer for 4s") || !strings.Contains(failure, "Send the message again.") {
			t.Errorf("the transcript says %q", failure)
		}
		if status, _ := server.Call(http.MethodPost, "/api/approvals/"+approval+"/decision",
			programtest.Object{"decision": "accept"}); status != http.StatusNotFound {
			t.Errorf("deciding an approval that ended: %d", status)
		}
		if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[fine again]")); status != "completed" {
			t.Errorf("the next turn ended %s", status)
		}
		if metrics := server.Metrics(); !strings.Contains(metrics, "harness_runtime_unresponsive 0") ||
			!strings.Contains(metrics, "harness_runtime_hangs_total 1") {
			t.Error("the metrics do not count the repaired hang")
		}
	})
}
