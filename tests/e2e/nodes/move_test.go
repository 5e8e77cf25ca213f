package nodes

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/agenttest"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// grace is the grace period of the nodes in these tests.
const grace = 8 * time.Second

// movable lets sessions move to other nodes.
func movable() programtest.SiteOption {
	return programtest.WithEnv("HARNESS_NODE_ADDRESS=127.0.0.1:0", "HARNESS_WORKSPACES=shared", fmt.Sprintf("HARNESS_NODE_GRACE_MS=%d", grace.Milliseconds()))
}

// kept waits until codex's memory of a session on a is stored with a turn.
func (n *nodes) kept(t *testing.T, session, turn string) {
	t.Helper()
	db := dbtest.Connect(t, n.siteA.Store())
	n.a.Eventually("what codex remembers is stored", func() bool {
		var found int64
		if err := db.Read().QueryRowContext(t.Context(), `select count(*) from session_custody where session_id = $1 and
			turn_id = $2`, session, turn).Scan(&found); err != nil {
			t.Fatal(err)
		}
		return found == 1
	})
}

// loseA ends node a completely: its server, its shims and its runtimes.
func (n *nodes) loseA(t *testing.T) {
	t.Helper()
	n.awaitGuarded(t)
	n.a.Kill()
	n.siteA.EndRuntimes()
}

// untilTaken sends a message to b until the response is not a request to retry. It returns the last response and the
// elapsed time.
func (n *nodes) untilTaken(t *testing.T, session string) (status int, answer programtest.Object, took time.Duration) {
	t.Helper()
	began := time.Now()
	if !polling.Until(programtest.Patience, func() bool {
		var after int
		status, after, answer = n.message(t, "/api/sessions/"+session+"/messages")
		if status == http.StatusServiceUnavailable && after < 1 {
			t.Errorf("503 without Retry-After: %v", answer)
		}
		return status != http.StatusServiceUnavailable
	}) {
		t.Fatalf("the last answer was %d %v", status, answer)
	}
	return status, answer, time.Since(began)
}

// A node is lost completely. Its sessions move to the other node, in the workspace that both have, with their whole
// history. Back on the first node, which has an older copy of codex's memory, they have the newer history.
func TestASessionGoesOnAtAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t, movable())
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", folder).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	session := n.a.CreateSession(programtest.Object{"cwd": folder})
	events := n.b.Follow("threadId=" + session)
	for _, said := range []string{"MOCK_REPLY[first-answer]", "MOCK_REPLY[second-answer]"} {
		turn := n.a.Send(session, said)
		events.WaitTurn(turn)
		n.kept(t, session, turn)
	}
	n.loseA(t)
	status, answer, took := n.untilTaken(t, session)
	if status != http.StatusAccepted {
		t.Fatalf("the message at the other node got %d %v", status, answer)
	}
	t.Logf("taken %s after the node was lost", took)
	turn := programtest.Text(answer, "turnId")
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("its turn ended %s", status)
	}
	n.requireHistory(t, n.siteB, "first-answer", "second-answer")
	if out, err := exec.CommandContext(t.Context(), "git", "-C", folder, "status", "--porcelain").Output(); err != nil ||
		len(out) > 0 {
		t.Errorf("git sees the mark: %s, %v", out, err)
	}
	turn = n.b.Send(session, "MOCK_REPLY[said-at-b]")
	events.WaitTurn(turn)
	n.kept(t, session, turn)

	n.a = n.siteA.Start()
	n.a.WaitRuntime()
	n.a, n.b, n.siteA, n.siteB = n.b, n.a, n.siteB, n.siteA
	back := n.b.Follow("threadId=" + session)
	n.loseA(t)
	if status, answer, _ = n.untilTaken(t, session); status != http.StatusAccepted {
		t.Fatalf("the message at the first node got %d %v", status, answer)
	}
	if status := back.WaitTurn(programtest.Text(answer, "turnId")); status != "completed" {
		t.Errorf("its turn ended %s", status)
	}
	n.requireHistory(t, n.siteB, "first-answer", "second-answer", "said-at-b")
}

// A node without agents makes another node take over a session whose node is lost, and forwards that node's response.
// Without another node, it responds with an error.
func TestANodeWithoutAgentsHasASessionTaken(t *testing.T) {
	t.Parallel()
	n := &nodes{siteA: programtest.New(t, movable(), programtest.WithEngine(database.Postgres))}
	n.siteB = programtest.New(t, movable(), programtest.WithDatabaseOf(n.siteA), programtest.WithEnv("HARNESS_ROLES=api"))
	taker := programtest.New(t, movable(), programtest.WithDatabaseOf(n.siteA))
	n.a, n.b = n.siteA.Start(), n.siteB.Start()
	n.a.WaitRuntime()
	session := n.a.CreateSession(programtest.Object{"cwd": t.TempDir()})
	events := n.b.Follow("threadId=" + session)
	turn := n.a.Send(session, "MOCK_REPLY[before]")
	events.WaitTurn(turn)
	n.kept(t, session, turn)
	n.loseA(t)
	n.b.Eventually("no node is left to ask", func() bool {
		status, _, answer := n.message(t, "/api/sessions/"+session+"/messages")
		return status == http.StatusServiceUnavailable && strings.Contains(programtest.Text(answer, "message"), "HARNESS_ROLES")
	})
	c := taker.Start()
	c.WaitRuntime()
	status, answer, _ := n.untilTaken(t, session)
	if status != http.StatusAccepted {
		t.Fatalf("the message got %d %v", status, answer)
	}
	if status := events.WaitTurn(programtest.Text(answer, "turnId")); status != "completed" {
		t.Errorf("its turn ended %s", status)
	}
	n.requireHistory(t, taker, "before")
}

// The memory of Claude Code and Gemini moves with the session, also back to the first node, which has an old copy.
// OpenCode's memory stays on its node, and the server sends it the conversation again.
func TestASessionOfAnotherAgentGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*testing.T, ...programtest.SiteOption) *programtest.Site{
		"claude": programtest.WithClaude, "opencode": programtest.WithOpenCode, "gemini": withGemini,
	} {
		memory := "restored"
		if name == "opencode" {
			memory = "toldAgain"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &nodes{siteA: with(t, movable(), programtest.WithEngine(database.Postgres))}
			n.siteB = with(t, movable(), programtest.WithDatabaseOf(n.siteA))
			n.a, n.b = n.siteA.Start(), n.siteB.Start()
			n.a.AwaitRuntime()
			n.b.AwaitRuntime()
			session := n.a.CreateSession(programtest.Object{"runtime": name, "cwd": t.TempDir(), "approvalPolicy": "untrusted",
				"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
			words := []string{"first-word", "second-word"}
			if name == "opencode" { // it starts a new conversation
				words = words[:1]
			}
			for i, word := range words {
				events := n.b.Follow("threadId=" + session)
				turn := n.a.Send(session, "MOCK_REPLY["+word+"]")
				events.WaitTurn(turn)
				n.kept(t, session, turn)
				n.siteB.Model.Forget()
				n.loseA(t)
				status, answer, took := n.untilTaken(t, session)
				if status != http.StatusAccepted {
					t.Fatalf("the message at the other node got %d %v", status, answer)
				}
				t.Logf("taken %s after the node was lost", took)
				if status := events.WaitTurn(programtest.Text(answer, "turnId")); status != "completed" {
					t.Errorf("its turn ended %s", status)
				}
				n.takenWith(t, session, i+1, memory)
				for _, before := range words[:i+1] {
					if strings.Count(n.siteB.Model.Asked(before), before) < 2 { // once in the request and once in the answer
						t.Errorf("the model did not get %q", before)
					}
				}
				n.a = n.siteA.Start()
				n.a.AwaitRuntime()
				n.a, n.b, n.siteA, n.siteB = n.b, n.a, n.siteB, n.siteA
			}
		})
	}
}

// takenWith fails unless a session was taken over this often, the last time with this state of its runtime's memory.
func (n *nodes) takenWith(t *testing.T, session string, times int, memory string) {
	t.Helper()
	status, answer := n.b.Call(http.MethodGet, "/api/events?type=session.taken&session="+session, nil)
	if taken, _ := answer["data"].([]any); status != http.StatusOK || len(taken) != times || !strings.Contains(fmt.Sprint(taken), "memory:"+memory) {
		t.Errorf("it was not taken %d times with its memory %s: %d %v", times, memory, status, answer)
	}
	_, whole := n.b.Call(http.MethodGet, "/api/sessions/"+session, nil)
	if again := strings.Contains(fmt.Sprint(whole["transcript"]), "conversation.restored"); again != (memory == "toldAgain") {
		t.Errorf("the conversation was sent again: %v, with the memory %s", again, memory)
	}
}

// withGemini makes a site with codex and the real Gemini CLI.
func withGemini(t *testing.T, options ...programtest.SiteOption) *programtest.Site {
	t.Helper()
	s := programtest.New(t, append(options, programtest.WithEnv("HARNESS_RUNTIMES=codex,gemini",
		"GEMINI_BIN="+agenttest.Binary(t, "gemini"), "GEMINI_API_KEY=canary-of-gemini"))...)
	s.Env = append(s.Env, "GOOGLE_GEMINI_BASE_URL="+s.Model.Root())
	return s
}

// A node is lost in the middle of a turn. The session waits for the end of the grace period, then it moves to the
// other node, with its history.
func TestASessionWithATurnGoesOnAfterTheGrace(t *testing.T) {
	t.Parallel()
	n := newNodes(t, movable())
	session := n.a.CreateSession(programtest.Object{"cwd": t.TempDir()})
	events := n.b.Follow("threadId=" + session)
	turn := n.a.Send(session, "MOCK_REPLY[before]")
	events.WaitTurn(turn)
	n.kept(t, session, turn)
	cut := n.a.Send(session, "MOCK_HOLD[on]")
	if err := n.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	n.loseA(t)
	status, answer, took := n.untilTaken(t, session)
	if took < grace { // the last lease renewal was at most 2 s earlier
		t.Errorf("it was taken after %s, while its turn could still go on", took)
	}
	if status := events.WaitTurn(cut); status != "interrupted" {
		t.Errorf("the turn of the lost node ended %s", status)
	}
	if status != http.StatusAccepted {
		t.Fatalf("the message at the other node got %d %v", status, answer)
	}
	if status := events.WaitTurn(programtest.Text(answer, "turnId")); status != "completed" {
		t.Errorf("its turn ended %s", status)
	}
	n.requireHistory(t, n.siteB, "before")
}

// A node is frozen until another one has taken over one of its sessions, and resumes within its grace period. It
// keeps its other sessions, and forwards requests about that one.
func TestANodeThatWakesHasLostWhatWasTaken(t *testing.T) {
	t.Parallel()
	n := newNodes(t, programtest.WithEnv("HARNESS_NODE_ADDRESS=127.0.0.1:0", "HARNESS_WORKSPACES=shared"))
	taken, own := n.a.CreateSession(programtest.Object{"cwd": t.TempDir()}), n.a.CreateSession(nil)
	events := n.b.Follow("")
	turn := n.a.Send(taken, "MOCK_REPLY[before]")
	events.WaitTurn(turn)
	n.kept(t, taken, turn)
	n.awaitGuarded(t)
	freeze(n.a)
	status, answer, _ := n.untilTaken(t, taken)
	if status != http.StatusAccepted {
		t.Fatalf("the message at the other node got %d %v", status, answer)
	}
	events.WaitTurn(programtest.Text(answer, "turnId"))
	if err := n.a.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	n.a.Eventually("the node is sure of its lease", func() bool { return n.a.Metric("harness_node_lease_sure") == 1 })
	for _, session := range []string{taken, own} {
		if status := events.WaitTurn(n.a.Send(session, "MOCK_REPLY[after]")); status != "completed" {
			t.Errorf("a turn asked for at the node that woke ended %s", status)
		}
	}
	db := dbtest.Connect(t, n.siteA.Store())
	owner := func(session string) (node string) {
		if err := db.Read().QueryRowContext(t.Context(), `select node_id from sessions where id = $1`, session).
			Scan(&node); err != nil {
			t.Fatal(err)
		}
		return node
	}
	if owner(taken) != nodeID(n.siteB) || owner(own) != nodeID(n.siteA) {
		t.Errorf("the sessions are of %s and %s", owner(taken), owner(own))
	}
}

// A session stays on its node if its folder or its runtime's memory is only there. The response gives the reason.
func TestASessionThatCannotGoOnElsewhereWaits(t *testing.T) {
	t.Parallel()
	n := newNodes(t, movable())
	folder := t.TempDir()
	pinned, unkept := n.a.CreateSession(programtest.Object{"cwd": folder}), n.a.CreateSession(programtest.Object{"cwd": t.TempDir()})
	events := n.b.Follow("threadId=" + pinned)
	turn := n.a.Send(pinned, "MOCK_REPLY[here]")
	events.WaitTurn(turn)
	n.kept(t, pinned, turn)
	n.loseA(t)
	// The same path on another machine is a different folder.
	if err := os.WriteFile(filepath.Join(folder, ".harness-workspace", "id"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for session, code := range map[string]string{pinned: "workspace_pinned", unkept: "memory_pinned"} {
		status, answer, _ := n.untilTaken(t, session)
		if status != http.StatusConflict || programtest.Text(answer, "code") != code ||
			programtest.Text(answer, "owner", "nodeId") != nodeID(n.siteA) ||
			!strings.Contains(programtest.Text(answer, "message"), "start its server again") {
			t.Errorf("want %s, the answer is %d %v", code, status, answer)
		}
	}
	n.a = n.siteA.Start()
	n.a.WaitRuntime()
	back := n.a.Follow("threadId=" + pinned)
	if status := back.WaitTurn(n.b.Send(pinned, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("once its node is back the turn ended %s", status)
	}
}

// requireHistory fails unless the model of a site got the earlier messages and answers with the last message "hi".
func (n *nodes) requireHistory(t *testing.T, site *programtest.Site, words ...string) {
	t.Helper()
	var body string
	for _, request := range site.Model.Requests() {
		if request.UserText == "hi" {
			body = string(request.Body)
		}
	}
	for _, word := range words {
		if strings.Count(body, word) < 2 { // once in the request and once in the answer
			t.Errorf("the model did not get %q: %s", word, body)
		}
	}
}
