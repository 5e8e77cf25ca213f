package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// requireOutlives has a session's turn wait for an approval while its server is killed: the next one goes on with the same process, the answer
// reaches it, the command runs once it is allowed, and the turn ends once, and so does the next. process tells what serves the session;
// asked, when set, looks at the first server while it waits. The servers after it and their frames are returned.
func (s *site) requireOutlives(server *instance, session string, process func(*instance) string, asked func(approval object)) (*instance, *follower) {
	s.t.Helper()
	events := server.follow("after=0")
	file := filepath.Join(s.workspace, "made.txt")
	turn := server.send(session, "MOCK_CMD[touch "+file+"]")
	approval := events.waitType("approval").payload()
	pid := process(server)
	if pid == "" {
		s.t.Fatal("there is no process that serves it")
	}
	if asked != nil {
		asked(approval)
	}
	seen := events.all()
	server.kill()

	server = s.start()
	resumed := server.follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
	server.eventually("the process is taken over", func() bool { return process(server) == pid })
	if _, err := os.Stat(file); err == nil {
		s.t.Error("it ran before it was allowed")
	}
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(approval, "approvalId")+"/decision", object{"decision": "accept"})
	requireCompleted(s.t, resumed, turn)
	if _, err := os.Stat(file); err != nil {
		s.t.Error(err)
	}
	if commands := server.entries(session, "commandExecution"); len(commands) != 1 {
		s.t.Errorf("the transcript has commands %v", commands)
	}
	requireCompleted(s.t, resumed, server.send(session, "MOCK_REPLY[still here]"))
	return server, resumed
}

func requireCompleted(t *testing.T, events *follower, turn string) {
	t.Helper()
	if status := events.waitTurn(turn); status != "completed" {
		t.Errorf("turn %s ended %s", turn, status)
	}
}
