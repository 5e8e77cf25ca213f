package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/dbtest"
	"harness/runtime/process"
	"harness/runtime/process/shim"
)

// shim is the site's one shim.
func (s *site) shim() shim.Found {
	s.t.Helper()
	found, err := shim.Discover(runDir(s.dataDir))
	if err != nil || len(found) != 1 {
		s.t.Fatalf("%d shims, %v", len(found), err)
	}
	return found[0]
}

// The shim itself is killed: codex is gone with it, the approval expires and the turn is interrupted, within 2 s; the
// next message goes on.
func TestAKilledShimEndsItsTurn(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine))
			server := s.start()
			session := server.createSession(object{"approvalPolicy": "untrusted"})
			events := server.follow("threadId=" + session)
			turn := server.send(session, "MOCK_CMD[touch never.txt]")
			approval := text(events.waitType("approval").payload(), "approvalId")
			pid := server.runtimePID()
			began := time.Now()
			if err := syscall.Kill(s.shim().State.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if expired := events.waitType("approval_resolved").payload(); expired["approvalId"] != approval ||
				expired["status"] != "expired" {
				t.Errorf("the approval ended as %v", expired)
			}
			if status := events.waitTurn(turn); status != "interrupted" {
				t.Errorf("the turn ended %s", status)
			}
			if took := time.Since(began); took > slowness*recoveryBound {
				t.Errorf("told after %v", took)
			}
			// The kernel kills codex when its shim is gone; its last breath may come after the news of it.
			server.eventually("codex is gone", func() bool { return process.Started(pid) == 0 })
			if took := time.Since(began); took > slowness*recoveryBound {
				t.Errorf("codex was gone after %v", took)
			}
			server.waitRuntime()
			if status := events.waitTurn(server.send(session, "MOCK_REPLY[again]")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			server.stop()
			s.requireNoOrphans()
		})
	}
}

// The shim and the server die together: the next server reads what the dead shim's codex said last, and then ends the
// turn.
func TestServerAndShimDieTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	session := server.createSession(object{"approvalPolicy": "untrusted"})
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_SLOW[400,20]")
	events.wait("a token", func(f frame) bool { return text(f.payload(), "method") == "item/agentMessage/delta" })
	dead := s.shim()
	server.kill()
	s.waitUnread(dead, 2000)
	if err := syscall.Kill(dead.State.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	server = s.start()
	late := server.follow("after=0")
	if status := late.waitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	server.stop()
	s.requireNoOrphans()
	spoken, before := s.tokens(session, events)
	if spoken < before+5 {
		t.Errorf("%d tokens are stored, %d were heard before the kill: what was said after it is lost", spoken, before)
	}
	if _, err := os.Stat(dead.Dir); err == nil {
		t.Error("the dead shim's folder is left")
	}
}

// tokens are how many tokens of a session are stored, and how many a client has heard.
func (s *site) tokens(session string, events *follower) (stored, heard int) {
	s.t.Helper()
	var said, live strings.Builder
	for _, frame := range s.frames(session) {
		if text, is := strings.CutPrefix(frame, agentDelta+" "); is {
			said.WriteString(text)
		}
	}
	for _, f := range events.all() {
		if f.Type == "notification" && text(f.payload(), "method") == agentDelta {
			live.WriteString(text(f.payload(), "params", "delta"))
		}
	}
	return len(strings.Fields(said.String())), len(strings.Fields(live.String()))
}

// waitUnread returns when the runtime of a shim has said so many bytes more than now.
func (s *site) waitUnread(f shim.Found, more int64) {
	s.t.Helper()
	s.waitSaid(f, s.said(f)+more)
}

// said is how many bytes the runtime of a shim has said so far.
func (s *site) said(f shim.Found) int64 {
	s.t.Helper()
	state, err := shim.Status(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	return state.End
}

// waitSaid returns when it has said that many.
func (s *site) waitSaid(f shim.Found, bytes int64) {
	s.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		if s.said(f) >= bytes {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			s.t.Fatal("the runtime says nothing more")
		}
	}
}

// A graceful stop takes the runtimes along; with --keep-runtimes they go on and the next server finishes their turns.
func TestAGracefulStopKeepsRuntimesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start("HARNESS_KEEP_RUNTIMES=true")
	session := server.createSession(nil)
	turn := server.send(session, "MOCK_HOLD[go]")
	if err := s.model.WaitHeld(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	pid := server.runtimePID()
	server.stop()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("codex is gone: %v", err)
	}
	kept := s.shim()
	before := s.said(kept)
	s.model.Release("go") // the turn ends while no server is there
	s.waitSaid(kept, before+1)

	server = s.start()
	late := server.follow("after=0")
	if status := late.waitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	server.waitRuntime()
	if again := server.runtimePID(); again != pid {
		t.Errorf("codex is process %d, was %d", again, pid)
	}
	server.stop()
	s.requireNoOrphans()
	if found, err := shim.Discover(runDir(s.dataDir)); err != nil || len(found) != 0 {
		t.Errorf("left: %v %v", found, err)
	}
}

// A runtime nobody comes back for ends after the grace, and the next server tells how its turn ended.
func TestTheGraceEndsALonelyRuntime(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("HARNESS_DETACH_GRACE_MS=3000")) // time enough to attach
	server := s.start()
	session := server.createSession(nil)
	turn := server.send(session, "MOCK_HOLD[never]")
	if err := s.model.WaitHeld(t.Context(), "never"); err != nil {
		t.Fatal(err)
	}
	server.kill()
	s.requireNoOrphans()
	server = s.start()
	late := server.follow("after=0")
	if status := late.waitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	if !strings.Contains(fmt.Sprint(late.all()), "no server attached") {
		t.Error("the end does not say why")
	}
	server.stop()
}

// The shim can write no more, and will not be able to (a file size limit): codex is stopped, the session says why, and
// what was acknowledged is there.
func TestASpoolThatCannotBeWrittenEndsTheTurnWithItsReason(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_SLOW[400,20]")
	events.wait("a token", func(f frame) bool { return text(f.payload(), "method") == "item/agentMessage/delta" })
	limitFileSize(t, s.shim().State.PID, 1024)
	if status := events.waitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	if last := events.all(); !strings.Contains(fmt.Sprint(last[len(last)-1].raw), "output could not be kept") {
		t.Errorf("the end says %s", last[len(last)-1].raw)
	}
	server.waitRuntime()
	if status := events.waitTurn(server.send(session, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
	server.stop()
	s.requireNoOrphans()
	if stored, heard := s.tokens(session, events); heard == 0 || stored < heard {
		t.Errorf("%d tokens are stored, a client has heard %d", stored, heard)
	}
}

// The operator's view: list, stop, metrics.
func TestOperatorsSeeAndStopRuntimes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_HOLD[long]")
	if err := s.model.WaitHeld(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	f := s.shim()
	code, out := s.command("runtimes", "list")
	if code != 0 || !strings.Contains(out, f.Generation) || !strings.Contains(out, "attached") ||
		!strings.Contains(out, strconv.Itoa(f.State.RuntimePID)) {
		t.Errorf("list: %d %s", code, out)
	}
	_, health := server.call(http.MethodGet, "/api/health", nil)
	if named := text(health, "codex", "shim", "pid"); named != strconv.Itoa(f.State.PID) ||
		text(health, "codex", "shim", "servers") != "1" {
		t.Errorf("health names the shim %v", health["codex"])
	}
	metrics := server.metrics()
	for _, line := range []string{"harness_runtime_shims 1\n", "harness_runtime_orphans 0\n",
		"harness_runtime_spool_bytes "} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %q in the metrics", line)
		}
	}
	if code, out := s.command("runtimes", "stop", "nobody"); code == 0 ||
		!strings.Contains(out, "there is no runtime nobody") {
		t.Errorf("stop of an unknown one: %d %s", code, out)
	}
	if code, out := s.command("runtimes", "stop", f.Generation); code != 0 ||
		!strings.Contains(out, "stopped "+f.Generation) {
		t.Errorf("stop: %d %s", code, out)
	}
	if status := events.waitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	server.waitRuntime()
	server.stop()
}

func (i *instance) metrics() string {
	i.t.Helper()
	_, raw, err := i.try(http.MethodGet, "/api/metrics", nil)
	if err != nil || !strings.Contains(string(raw), "harness_") {
		if _, raw, err = i.try(http.MethodGet, "/metrics", nil); err != nil {
			i.t.Fatal(err)
		}
	}
	return string(raw)
}
