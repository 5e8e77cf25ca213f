package frontends

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime/process/shim"
	"harness/tests/programtest"
)

// killed kills the server, calls a function, starts the server again, and waits until each TUI has it back.
func (b *bench) killed(all []*tui, between func()) {
	b.T.Helper()
	b.Kill()
	for _, u := range all {
		u.await("Reconnecting")
	}
	between()
	b.restart()
	for _, u := range all {
		u.gone("Reconnecting")
	}
}

// asks returns how many approvals are pending in the sessions of a runtime.
func (b *bench) asks(runtime string) (n int) {
	for _, one := range programtest.List(b.s.T, b.Server, "/api/sessions") {
		if programtest.Text(one, "runtime") == runtime {
			n += len(b.Approvals(programtest.Text(one, "sessionId")))
		}
	}
	return n
}

// signalShims sends a signal to the processes that stand between the server and its agents.
func (b *bench) signalShims(signal syscall.Signal) {
	b.T.Helper()
	found, err := shim.Discover(b.s.RunDir())
	if err != nil || len(found) == 0 {
		b.T.Fatalf("%d shims, %v", len(found), err)
	}
	for _, one := range found {
		if err := syscall.Kill(one.State.PID, signal); err != nil {
			b.T.Fatalf("%s to the shim of %s: %v", signal, one.Dir, err)
		}
	}
}

// FE-87: a server that is killed while a text is streamed, while nothing happens, before it answers a message that it
// stored, and before the agent has a decision, is found again: each text is shown once, each command runs once, and no
// message is left unsent.
func TestTheTUIOutlivesAKilledServer(t *testing.T) {
	t.Parallel()
	b := &bench{s: withEveryRuntime(t), port: freePort(t)}
	b.relay = startRelay(t, b.port)
	b.restart()
	runtimes := []string{"codex", "claude", "gemini", "opencode"}
	var all []*tui
	for _, runtime := range runtimes {
		u := b.open(t, "-m", runtime, "-s", "danger-full-access")
		u.await("Ask Codex")
		u.say("MOCK_HOLD[" + runtime + "]")
		u.await("• holding")
		all = append(all, u)
	}
	b.killed(all, func() {})
	for i, u := range all {
		b.s.Model.Release(runtimes[i])
		u.await("Worked for")
	}
	b.killed(all, func() {})

	ran := func(runtime string) string { return filepath.Join(b.s.Workspace, runtime+"-ran") }
	b.relay.loses.Store(true)
	for i, u := range all {
		u.enter("MOCK_CMD[echo once >> "+ran(runtimes[i])+"]", func(string) bool { return b.asks(runtimes[i]) == 1 })
	}
	b.killed(all, func() { b.relay.loses.Store(false) })
	b.signalShims(syscall.SIGSTOP)
	for i, u := range all {
		u.answer("Would you like to run", "y")
		b.Eventually("the decision is stored", func() bool { return b.asks(runtimes[i]) == 0 })
		if _, err := os.Stat(ran(runtimes[i])); err == nil {
			t.Error("a frozen agent has run its command")
		}
	}
	b.killed(all, func() { b.signalShims(syscall.SIGCONT) })
	for i, u := range all {
		u.await("• Tool said")
		u.say("MOCK_REPLY[after all]")
		screen := u.await("• after all")
		for _, once := range []string{"• holding", "• Tool said", "• after all", "› MOCK_HOLD", "› MOCK_CMD", "› MOCK_REPLY"} {
			if n := strings.Count(screen, once); n != 1 {
				t.Errorf("%s: %q is shown %d times:\n%s", runtimes[i], once, n, screen)
			}
		}
		if strings.Contains(screen, "Couldn't confirm") {
			t.Errorf("a message counts as unsent:\n%s", screen)
		}
		if text, err := os.ReadFile(ran(runtimes[i])); err != nil || string(text) != "once\n" {
			t.Errorf("the command of %s wrote %q, %v", runtimes[i], text, err)
		}
	}
	b.Stop()
}
