package main

import (
	"slices"
	"strings"
	"testing"
)

// A runtime above its bound is replaced while nothing runs; its sessions do not notice, and what was said before is
// known.
func TestAnIdleRuntimeIsRecycled(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start("HARNESS_RUNTIME_RECYCLE_MB=1")
		sessions := make([]string, 4)
		for i := range sessions {
			sessions[i] = server.createSession(nil)
			events := server.follow("threadId=" + sessions[i])
			if status := events.waitTurn(server.send(sessions[i], "MOCK_REPLY[remember the plum]")); status != "completed" {
				t.Fatalf("a turn ended %s", status)
			}
			events.close()
		}
		unused := server.createSession(nil)
		if strings.Contains(t.Name(), "oldest") {
			// 0.101 has it in its memory only until it is used, and is not recycled before.
			events := server.follow("threadId=" + unused)
			if status := events.waitTurn(server.send(unused, "hello")); status != "completed" {
				t.Errorf("the first turn ended %s", status)
			}
			events.close()
		}
		server.eventually("the idle process is recycled", func() bool {
			return server.metric("harness_runtime_recycles_total") >= 1
		})
		for _, session := range slices.Concat(sessions, []string{unused}) {
			events := server.follow("threadId=" + session)
			if status := events.waitTurn(server.send(session, "and now?")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			requests := s.model.Requests()
			if session != unused && !strings.Contains(string(requests[len(requests)-1].Body), "remember the plum") {
				t.Error("a session went on without its history")
			}
			for _, told := range server.transcript(session) {
				if text(told, "type") == "turn.error" {
					t.Errorf("the transcript tells of it: %v", told)
				}
			}
			events.close()
		}
		if n := server.metric("harness_runtime_hangs_total"); n != 0 {
			t.Errorf("%v hangs", n)
		}
	})
}
