package crashes

import (
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// The server replaces a runtime above its memory limit while nothing runs. Its sessions do not notice, and keep their
// history.
func TestAnIdleRuntimeIsRecycled(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start("HARNESS_RUNTIME_LIMITS=memory-mb=1")
		sessions := make([]string, 4)
		for i := range sessions {
			sessions[i] = server.CreateSession(nil)
			events := server.Follow("threadId=" + sessions[i])
			if status := events.WaitTurn(server.Send(sessions[i], "MOCK_REPLY[remember the plum]")); status != "completed" {
				t.Fatalf("a turn ended %s", status)
			}
			events.Close()
		}
		unused := server.CreateSession(nil)
		if strings.Contains(t.Name(), "oldest") {
			// 0.101 keeps it only in memory until its first use, and is not recycled before that.
			events := server.Follow("threadId=" + unused)
			if status := events.WaitTurn(server.Send(unused, "hello")); status != "completed" {
				t.Errorf("the first turn ended %s", status)
			}
			events.Close()
		}
		server.Eventually("the idle process is recycled", func() bool {
			return server.Metric("harness_runtime_recycles_total") >= 1
		})
		for _, session := range slices.Concat(sessions, []string{unused}) {
			events := server.Follow("threadId=" + session)
			if status := events.WaitTurn(server.Send(session, "and now?")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			requests := s.Model.Requests()
			if session != unused && !strings.Contains(string(requests[len(requests)-1].Body), "remember the plum") {
				t.Error("a session went on without its history")
			}
			for _, entry := range server.Transcript(session) {
				if programtest.Text(entry, "type") == "turn.error" {
					t.Errorf("the transcript shows it: %v", entry)
				}
			}
			events.Close()
		}
		if n := server.Metric("harness_runtime_hangs_total"); n != 0 {
			t.Errorf("%v hangs", n)
		}
	})
}
