package crashes

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// shimOf returns the site's only shim.
func shimOf(s *programtest.Site) shim.Found {
	s.T.Helper()
	found, err := shim.Discover(s.RunDir())
	if err != nil || len(found) != 1 {
		s.T.Fatalf("%d shims, %v", len(found), err)
	}
	return found[0]
}

// The shim itself is killed. codex ends with it, the approval expires and the turn is interrupted, within 2 s. The
// next message continues.
func TestAKilledShimEndsItsTurn(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server := s.Start()
			session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
			events := server.Follow("threadId=" + session)
			turn := server.Send(session, "MOCK_CMD[touch never.txt]")
			approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
			pid := server.RuntimePID()
			began := time.Now()
			if err := syscall.Kill(shimOf(s).State.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if expired := events.WaitType("approval_resolved").Decoded(); expired["approvalId"] != approval ||
				expired["status"] != "expired" {
				t.Errorf("the approval ended as %v", expired)
			}
			if status := events.WaitTurn(turn); status != "interrupted" {
				t.Errorf("the turn ended %s", status)
			}
			if took := time.Since(began); took > programtest.Slowness*recoveryBound {
				t.Errorf("published after %v", took)
			}
			// The kernel kills codex when its shim dies. codex may end shortly after that is reported.
			server.Eventually("codex is gone", func() bool { return process.Started(pid) == 0 })
			if took := time.Since(began); took > programtest.Slowness*recoveryBound {
				t.Errorf("codex was gone after %v", took)
			}
			server.WaitRuntime()
			if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[again]")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			server.Stop()
			s.RequireNoOrphans()
		})
	}
}

// The shim and the server die together. The next server reads the last output of the dead shim's codex, and then ends
// the turn.
func TestServerAndShimDieTogether(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_SLOW[400,20]")
	events.Wait("a token", func(f programtest.Frame) bool {
		return programtest.Text(f.Decoded(), "method") == "item/agentMessage/delta"
	})
	dead := shimOf(s)
	server.Kill()
	waitUnread(s, dead, 2000)
	if err := syscall.Kill(dead.State.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	late := server.Follow("after=0")
	if status := late.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	server.Stop()
	s.RequireNoOrphans()
	spoken, before := tokens(s, session, events)
	if spoken < before+5 {
		t.Errorf("%d tokens are stored, a client had %d before the kill: the later ones are lost", spoken, before)
	}
	if _, err := os.Stat(dead.Dir); err == nil {
		t.Error("the dead shim's folder is left")
	}
}

// tokens returns how many tokens of a session are stored, and how many a client has received.
func tokens(s *programtest.Site, session string, events *programtest.Follower) (stored, received int) {
	s.T.Helper()
	var said, live strings.Builder
	for _, frame := range frames(s, session) {
		if text, is := strings.CutPrefix(frame, programtest.AgentDelta+" "); is {
			said.WriteString(text)
		}
	}
	for _, f := range events.All() {
		if f.Type == "notification" && programtest.Text(f.Decoded(), "method") == programtest.AgentDelta {
			live.WriteString(programtest.Text(f.Decoded(), "params", "delta"))
		}
	}
	return len(strings.Fields(said.String())), len(strings.Fields(live.String()))
}

// waitUnread waits until the runtime of a shim has written this many more bytes.
func waitUnread(s *programtest.Site, f shim.Found, more int64) {
	s.T.Helper()
	waitSaid(s, f, said(s, f)+more)
}

// said returns how many bytes the runtime of a shim has written so far.
func said(s *programtest.Site, f shim.Found) int64 {
	s.T.Helper()
	state, err := shim.Status(s.T.Context(), f)
	if err != nil {
		s.T.Fatal(err)
	}
	return state.End
}

// waitSaid waits until the runtime has written this many bytes in total.
func waitSaid(s *programtest.Site, f shim.Found, bytes int64) {
	s.T.Helper()
	if !polling.Until(programtest.Patience, func() bool { return said(s, f) >= bytes }) {
		s.T.Fatal("the runtime says nothing more")
	}
}

// A graceful stop also ends the runtimes. With --keep-runtimes they keep running, and the next server finishes their
// turns.
func TestAGracefulStopKeepsRuntimesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start("HARNESS_KEEP_RUNTIMES=true")
	session := server.CreateSession(nil)
	turn := server.Send(session, "MOCK_HOLD[go]")
	if err := s.Model.WaitHeld(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	pid := server.SignalRuntime(0)
	server.Stop()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("codex is gone: %v", err)
	}
	kept := shimOf(s)
	before := said(s, kept)
	s.Model.Release("go") // the turn ends while no server runs
	waitSaid(s, kept, before+1)

	server = s.Start()
	late := server.Follow("after=0")
	if status := late.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	server.WaitRuntime()
	if again := server.RuntimePID(); again != pid {
		t.Errorf("codex is process %d, was %d", again, pid)
	}
	server.Stop()
	s.RequireNoOrphans()
	if found, err := shim.Discover(s.RunDir()); err != nil || len(found) != 0 {
		t.Errorf("left: %v %v", found, err)
	}
}

// Without a next server, a runtime ends after the grace period. A later server reports how its turn ended.
func TestTheGraceEndsALonelyRuntime(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("HARNESS_DETACH_GRACE_MS=10000")) // enough time to attach, even on a busy machine
	server := s.Start()
	session := server.CreateSession(nil)
	turn := server.Send(session, "MOCK_HOLD[never]")
	if err := s.Model.WaitHeld(t.Context(), "never"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	s.RequireNoOrphans()
	server = s.Start()
	late := server.Follow("after=0")
	if status := late.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	late.Find("why it ended", func(f programtest.Frame) bool { return strings.Contains(f.Raw, "no server attached") })
	server.Stop()
}

// The shim cannot write because of a file size limit. codex is stopped, the session reports the reason, and
// acknowledged data is kept.
func TestASpoolThatCannotBeWrittenEndsTheTurnWithItsReason(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_SLOW[400,20]")
	events.Wait("a token", func(f programtest.Frame) bool {
		return programtest.Text(f.Decoded(), "method") == "item/agentMessage/delta"
	})
	limitFileSize(t, shimOf(s).State.PID, 1024)
	if status := events.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	events.Find("the end with its reason", func(f programtest.Frame) bool {
		return programtest.Text(f.Decoded(), "method") == "turn/completed" && strings.Contains(f.Raw, "output could not be kept")
	})
	server.WaitRuntime()
	if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
	server.Stop()
	s.RequireNoOrphans()
	if stored, received := tokens(s, session, events); received == 0 || stored < received {
		t.Errorf("%d tokens are stored, a client has received %d", stored, received)
	}
}

// The operator's view: list, stop, metrics.
func TestOperatorsSeeAndStopRuntimes(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_HOLD[long]")
	if err := s.Model.WaitHeld(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	f := shimOf(s)
	code, out := s.Command("runtimes", "list")
	if code != 0 || !strings.Contains(out, f.Generation) || !strings.Contains(out, "attached") ||
		!strings.Contains(out, strconv.Itoa(f.State.RuntimePID)) {
		t.Errorf("list: %d %s", code, out)
	}
	_, health := server.Call(http.MethodGet, "/api/health", nil)
	if named := programtest.Text(health, "codex", "shim", "pid"); named != strconv.Itoa(f.State.PID) ||
		programtest.Text(health, "codex", "shim", "servers") != "1" {
		t.Errorf("health names the shim %v", health["codex"])
	}
	metrics := server.Metrics()
	for _, line := range []string{"harness_runtime_shims 1\n", "harness_runtime_orphans 0\n",
		"harness_runtime_spool_bytes "} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %q in the metrics", line)
		}
	}
	if code, out := s.Command("runtimes", "stop", "unknown"); code == 0 ||
		!strings.Contains(out, "there is no runtime unknown") {
		t.Errorf("stop of an unknown one: %d %s", code, out)
	}
	if code, out := s.Command("runtimes", "stop", f.Generation); code != 0 ||
		!strings.Contains(out, "stopped "+f.Generation) {
		t.Errorf("stop: %d %s", code, out)
	}
	if status := events.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	server.WaitRuntime()
	server.Stop()
}
