package agents

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"harness/tests/programtest"
)

// stopped is a runtime whose sessions the test stops, kills, deletes and archives.
type stopped struct {
	driven
	t      *testing.T
	server *programtest.Server
	events *programtest.Follower
	steers bool
}

// For every runtime: the response to a stop comes after the agent has stopped. Input steered into the turn that has
// not started never runs, and the next message starts another turn, also right after a cancellation (RA-35). A message
// sent while the agent dies goes to the next process. Deleted and archived sessions stop running.
func TestStopsOfEveryRuntime(t *testing.T) {
	t.Parallel()
	s := withEveryRuntime(t)
	server := s.Start()
	server.WaitRuntime()
	others := everyRuntime()
	codex := driven{name: "codex", command: others[0].command, levels: others[0].levels}
	for _, one := range append([]driven{codex}, others...) {
		t.Run(one.name, func(t *testing.T) {
			can := server.Want(http.StatusOK, http.MethodGet, "/api/capabilities?runtime="+one.name, nil)
			c := &stopped{driven: one, t: t, server: server, events: server.Follow("after=0"),
				steers: programtest.Text(can, "capabilities", "steer") == "true"}
			session := c.open()
			c.isStopped(session)
			c.isStoppedWhileItAsks(session, func(turn string) { c.stop(session, turn) })
			if c.steers { // elsewhere a message is queued behind the turn
				c.isStoppedWhileItAsks(session, func(turn string) {
					id := programtest.Text(c.server.Approvals(session)[0], "approvalId")
					c.server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+id+"/decision", programtest.Object{"decision": "cancel"})
					c.goesOn(session, turn)
				})
			}
			c.dies(session)
			c.isPutAway(http.MethodDelete, "")
			c.isPutAway(http.MethodPost, "/archive")
		})
	}
	server.Stop()
	s.RequireNoOrphans()
}

func (c *stopped) open() string {
	body := programtest.Object{"runtime": c.name, "cwd": c.server.Workspace}
	for name, level := range c.levels {
		body[name] = level
	}
	return c.server.CreateSession(body)
}

// stop stops the turn of a session, which must have ended when the response arrives.
func (c *stopped) stop(session, turn string) {
	c.t.Helper()
	c.server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
	read := c.server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if active := read["session"].(programtest.Object)["activeTurnId"]; active != nil {
		c.t.Errorf("the stop is answered while turn %v runs", active)
	}
	c.goesOn(session, turn)
}

// goesOn sends a message right after its turn was stopped.
func (c *stopped) goesOn(session, turn string) {
	c.t.Helper()
	next := c.server.Send(session, "MOCK_REPLY[after "+turn+"]")
	if next == turn {
		c.t.Error("the message after the stop is part of the stopped turn")
	}
	if status := c.events.FindTurn(turn); status != "interrupted" {
		c.t.Errorf("the stopped turn ended %s", status)
	}
	if status := c.events.FindTurn(next); status != "completed" {
		c.t.Errorf("the turn after it ended %s", status)
	}
}

func (c *stopped) isStopped(session string) {
	file := filepath.Join(c.server.Workspace, "steered-"+c.name)
	turn := c.server.Send(session, "MOCK_HOLD[stop-"+c.name+"]")
	if err := c.server.Model.WaitHeld(c.t.Context(), "stop-"+c.name); err != nil {
		c.t.Fatal(err)
	}
	text := c.command("touch " + file)
	if c.steers {
		if steered := c.server.Send(session, text); steered != turn {
			c.t.Errorf("the message began turn %s beside %s", steered, turn)
		}
	}
	c.stop(session, turn)
	if _, err := os.Stat(file); err == nil {
		c.t.Error("a message that was canceled with its turn has run")
	}
	count := 0
	for _, entry := range c.server.Entries(session, "userMessage") {
		if entry["content"] == text {
			count++
		}
	}
	if c.steers && count != 1 {
		c.t.Errorf("the canceled message stands there %d times", count)
	}
}

func (c *stopped) isStoppedWhileItAsks(session string, stop func(turn string)) {
	file := filepath.Join(c.server.Workspace, "asked-"+c.name)
	turn := c.server.Send(session, c.command("touch "+file))
	c.server.Eventually("it asks", func() bool { return len(c.server.Approvals(session)) == 1 })
	stop(turn)
	if _, err := os.Stat(file); err == nil {
		c.t.Error("what was asked about ran though its turn was stopped")
	}
}

// dies kills the agent. The server accepts an immediate message.
func (c *stopped) dies(session string) {
	pid := processOf(c.server, c.name, session)
	if pid == 0 {
		c.t.Fatal("nothing serves it")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	status := c.events.FindTurn(sendAfterDeath(c.server, session, "MOCK_REPLY[back]"))
	if status != "completed" {
		c.t.Errorf("the turn after the death of the agent ended %s", status)
	}
}

// isPutAway deletes or archives a session with a running command.
func (c *stopped) isPutAway(method, path string) {
	session := c.open()
	mark := filepath.Join(c.server.Workspace, fmt.Sprintf("%s-%s-runs", method, c.name))
	turn := c.server.Send(session, c.command("touch "+mark+" && tail -f "+mark))
	c.server.Eventually("it asks", func() bool { return len(c.server.Approvals(session)) == 1 })
	c.server.Decide(programtest.Text(c.server.Approvals(session)[0], "approvalId"))
	c.server.Eventually("the command runs", func() bool { return runs(c.t, mark) })
	c.server.Want(http.StatusOK, method, "/api/sessions/"+session+path, nil)
	if status := c.events.FindTurn(turn); status != "interrupted" {
		c.t.Errorf("%s%s: its turn ended %s", method, path, status)
	}
	c.server.Eventually("nothing of it runs", func() bool { return !runs(c.t, mark) })
}

// runs reports whether a process has a mark in its command line.
func runs(t *testing.T, mark string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte("tail\x00-f\x00"+mark)) {
			return true
		}
	}
	return false
}
