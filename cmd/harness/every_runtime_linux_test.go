package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"harness/internal/agenttest"
	"harness/internal/codextest"
	"harness/internal/dbtest"
)

// driven is a runtime as the tests that drive all of them with one server need it.
type driven struct {
	name string
	// command is how its model is told to run one that a person is asked about.
	command func(string) string
	levels  object
}

// everyRuntime are all a server can drive but codex, which most other tests are about: only approvals stand in the way of their sessions.
func everyRuntime() []driven {
	run := func(marker string) func(string) string {
		return func(command string) string { return marker + "[" + command + "]" }
	}
	open := object{"approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}
	all := []driven{}
	for _, name := range runtimeNames() {
		switch name {
		case "codex":
		case "codex-acp": // it asks before a command leaves its sandbox
			all = append(all, driven{name, run("MOCK_ESC"), open})
		default:
			all = append(all, driven{name, run("MOCK_CMD"), open})
		}
	}
	return all
}

// withEveryRuntime makes a site whose servers drive every real agent, with the scripted model behind each.
func withEveryRuntime(t *testing.T, options ...siteOption) *site {
	t.Helper()
	s := withOpenCode(t, options...)
	programs := t.TempDir()
	for name, agent := range map[string]string{"claude-agent-acp": "claude-acp", "codex-acp": "codex-acp"} {
		if err := os.Symlink(agenttest.Binary(t, agent), filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(s.env, "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"), "HARNESS_RUNTIMES="+strings.Join(runtimeNames(), ","),
		"CLAUDE_BIN="+agenttest.Binary(t, "claude"), "CLAUDE_CODE_EXECUTABLE="+agenttest.Binary(t, "claude"), "ANTHROPIC_API_KEY="+claudeKey,
		"ANTHROPIC_BASE_URL="+s.model.Root(), "GEMINI_BIN="+agenttest.Binary(t, "gemini"), "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+s.model.Root(),
		"CODEX_PATH="+codextest.Binary(t, codextest.Default), "OPENAI_API_KEY=test", `DEFAULT_AUTH_REQUEST={"methodId":"api-key"}`,
		"HARNESS_RUNTIME_ENV_ALLOW=codex-acp:DEFAULT_AUTH_REQUEST")
	return s
}

// processOf is the id of the agent that serves a session, 0 when there is none.
func (i *instance) processOf(runtime, session string) int {
	i.t.Helper()
	for _, one := range i.want(http.StatusOK, http.MethodGet, "/api/runtimes/"+runtime, nil)["processes"].([]any) {
		if serves := text(one, "sessionId"); serves == "" || serves == session {
			pid, _ := strconv.Atoi(text(one, "pid"))
			return pid
		}
	}
	return 0
}

// conversation is a session of a runtime in a test.
type conversation struct {
	driven
	session, turn, approval, file string
	pid                           int
}

// The conformance of whole servers with every real agent at once, two sessions of each: a turn of each waits for an approval when the server is
// killed; the next one takes all agents over, the answers reach them, and each turn ends once. Then each agent is killed in a turn: that
// one is interrupted, and the next message goes on with the conversation.
func TestEveryRuntimeOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := withEveryRuntime(t, withEngine(engine))
			server := s.start()
			events := server.follow("after=0")
			var all []*conversation
			for _, one := range everyRuntime() {
				body := object{"runtime": one.name}
				for name, level := range one.levels {
					body[name] = level
				}
				c := &conversation{driven: one, session: server.createSession(body), file: filepath.Join(s.workspace, one.name)}
				c.turn = server.send(c.session, one.command("touch "+c.file))
				all = append(all, c)
				beside := server.createSession(body)
				if status := events.turnStatus(server.send(beside, "MOCK_REPLY[beside]")); status != "completed" {
					t.Errorf("%s: the turn of another session ended %s", one.name, status)
				}
			}
			for _, c := range all {
				c.approval = events.approvalOf(c.session)
				if c.pid = server.processOf(c.name, c.session); c.pid == 0 {
					t.Errorf("%s: nothing serves it", c.name)
				}
			}
			seen := events.all()
			server.kill()

			server = s.start()
			events = server.follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
			for _, c := range all {
				t.Run(c.name, func(t *testing.T) { c.goesOn(t, server, events) })
			}
			server.stop()
			s.requireNoOrphans()
			s.foldJournal("") // gap-free
		})
	}
}

// goesOn is the second half of the test above for one agent, with the server that came back.
func (c *conversation) goesOn(t *testing.T, server *instance, events *follower) {
	server.eventually("its process is taken over", func() bool { return server.processOf(c.name, c.session) == c.pid })
	if _, err := os.Stat(c.file); err == nil {
		t.Error("the command ran before it was allowed")
	}
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+c.approval+"/decision", object{"decision": "accept"})
	if status := events.turnStatus(c.turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	if _, err := os.Stat(c.file); err != nil {
		t.Error(err)
	}
	if commands := server.entries(c.session, "commandExecution"); len(commands) != 1 {
		t.Errorf("the transcript has commands %v", commands)
	}

	held := server.send(c.session, "MOCK_HOLD["+c.name+server.databaseURL+"]")
	if err := server.model.WaitHeld(t.Context(), c.name+server.databaseURL); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.processOf(c.name, c.session), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := events.turnStatus(held); status != "interrupted" {
		t.Errorf("the turn of a killed agent ended %s", status)
	}
	if status := events.turnStatus(server.send(c.session, "MOCK_REPLY[still here]")); status != "completed" {
		t.Errorf("the turn after it ended %s", status)
	}
	said := server.entries(c.session, "agentMessage")
	if len(said) == 0 || text(said[len(said)-1], "content") != "still here" {
		t.Errorf("it said %v", said)
	}
	requests := server.model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "touch "+c.file) {
		t.Errorf("the model was not told of the first turn: %.2000s", last)
	}
	ended := map[string]int{}
	for _, f := range events.all() {
		if f.Type == "notification" && text(f.payload(), "method") == "turn/completed" {
			ended[text(f.payload(), "params", "turn", "id")]++
		}
	}
	for _, turn := range []string{c.turn, held} {
		if ended[turn] != 1 {
			t.Errorf("turn %s ended %d times", turn, ended[turn])
		}
	}
}

// find returns the first of all frames that fits, now or later; unlike wait it takes none of them away.
func (f *follower) find(what string, fits func(frame) bool) frame {
	f.t.Helper()
	f.mu.Lock()
	marker := f.marker
	f.marker = 0
	f.mu.Unlock()
	found := f.wait(what, fits)
	f.mu.Lock()
	f.marker = marker
	f.mu.Unlock()
	return found
}

// turnStatus waits for the end of a turn, whatever ended before it.
func (f *follower) turnStatus(turn string) string {
	f.t.Helper()
	found := f.find("the end of turn "+turn, func(f frame) bool {
		return f.Type == "notification" && text(f.payload(), "method") == "turn/completed" && text(f.payload(), "params", "turn", "id") == turn
	})
	return text(found.payload(), "params", "turn", "status")
}

// approvalOf waits for what a session asks.
func (f *follower) approvalOf(session string) string {
	f.t.Helper()
	found := f.find("an approval of session "+session, func(f frame) bool { return f.Type == "approval" && f.ThreadID != nil && *f.ThreadID == session })
	return text(found.payload(), "approvalId")
}
