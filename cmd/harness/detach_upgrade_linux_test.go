package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A turn begun under the commit before this one is finished under this source: the upgrade a user makes, store and shim protocol included.
// What another protocol version means is shown in package shim.
func TestAnUpgradeDoesNotKillTurns(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("HARNESS_RUNTIME_DETACH=true"))
	before, now := s.build(s.previousSource(), "1.0.0-before"), s.build("../..", "2.0.0-now")
	server := s.startBinary(before)
	session := server.createSession(object{"approvalPolicy": "untrusted"})
	file := filepath.Join(s.workspace, "upgraded.txt")
	early := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_CMD[touch "+file+"]")
	approval := text(early.waitType("approval").payload(), "approvalId")
	pid := server.runtimePID()
	f := s.shim()
	if f.State.Version != "1.0.0-before" {
		t.Errorf("the shim is of version %s", f.State.Version)
	}
	server.kill()
	server = s.startBinary(now)
	server.waitRuntime()
	if again := server.runtimePID(); again != pid {
		t.Errorf("codex is process %d, was %d", again, pid)
	}
	late := server.follow("after=0")
	server.decide(approval)
	if status := late.waitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if status := late.waitTurn(server.send(session, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
	server.stop()
	s.requireNoOrphans()
}

// previousSource is a folder with the source of the commit before the checked-out one. Where there is no such commit (an unpacked archive, a clone
// of depth 1) it is this source, built as another version: still an upgrade, but not across a change.
func (s *site) previousSource() string {
	s.t.Helper()
	dir := s.t.TempDir()
	archive := filepath.Join(dir, "previous.tar")
	if out, err := exec.Command("git", "-C", "../..", "archive", "-o", archive, "HEAD~1").CombinedOutput(); err != nil {
		s.t.Logf("there is no commit before this one (%v: %s), so the upgrade is to the same source; in a shallow clone: git fetch --deepen=1", err, out)
		return "../.."
	}
	if out, err := exec.Command("tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		s.t.Fatalf("unpack the commit before this one: %v: %s", err, out)
	}
	return dir
}

// build makes the program of a source folder with a version, with the flags of vetting, so that what that has compiled is not compiled again.
func (s *site) build(source, version string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "harness-"+version)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", path, "./cmd/harness")
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("build %s: %v\n%s", version, err, out)
	}
	return path
}
