package frontends

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/codextest"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// FE-65: codex's TUI at one node works on a session of another: history, turn, approval, interruption. While that node
// is away the TUI shows why and keeps the draft, which it sends once the node is back.
func TestTheTUIAtAnotherNode(t *testing.T) {
	t.Parallel()
	env := programtest.WithEnv("HARNESS_NODE_ADDRESS=127.0.0.1:0", "HARNESS_TRUST_LOCAL=true")
	siteA := programtest.New(t, env, programtest.WithEngine(database.Postgres))
	siteB := programtest.New(t, env, programtest.WithDatabaseOf(siteA))
	a, b := siteA.Start(), siteB.Start()
	a.WaitRuntime()
	b.WaitRuntime()
	session := a.CreateSession(programtest.Object{"approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access"})
	a.Follow("after=0&threadId=" + session).WaitTurn(a.Send(session, "MOCK_REPLY[said before]"))

	u := openTUI(siteB, codextest.Default, "ws"+b.URL[len("http"):], "resume", session)
	u.await("• said before")
	u.say("MOCK_REPLY[first answer]")
	u.await("• first answer")
	ran := filepath.Join(siteA.Workspace, "ran.txt")
	u.say("MOCK_CMD[echo once >> " + ran + "]")
	u.await("Would you like to run")
	u.press("y")
	b.Eventually("the command ran", func() bool { _, err := os.Stat(ran); return err == nil })
	u.await("Ran echo once")
	u.say("MOCK_HOLD[on]")
	if err := siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	u.await("esc to interrupt")
	u.press("Escape")
	u.await("Conversation interrupted")
	siteA.Model.Release("on")

	a.Kill()
	if out, err := u.tmux("send-keys", "-l", "MOCK_REPLY[kept draft]"); err != nil {
		t.Fatal(out, err)
	}
	u.await("MOCK_REPLY[kept draft]")
	pressed := func(text string) {
		t.Helper()
		if !polling.Until(programtest.Patience, func() bool { // an Enter right behind a text is taken as part of a pasted text
			u.press("Enter")
			return polling.Until(2*time.Second, func() bool { return strings.Contains(u.screen(), text) })
		}) {
			t.Fatalf("the TUI never showed %q:\n%s", text, u.screen())
		}
	}
	pressed("cannot be asked now")
	if n := strings.Count(u.screen(), "› MOCK_REPLY[kept draft]"); n != 2 {
		t.Errorf("the draft is not kept:\n%s", u.screen())
	}
	a = siteA.Start()
	a.WaitRuntime()
	pressed("• kept draft")
}
