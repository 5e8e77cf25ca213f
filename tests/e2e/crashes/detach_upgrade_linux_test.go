package crashes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// before is the last commit of a release with events of schema version 1.
const before = "546f21bb20f4bcaaf71dce4c6fd5b397cc01201d"

// A turn started under a server older than schema version 2 finishes under this one. This is a user's upgrade,
// including the store and the shim protocol. A replay returns the old server's frames byte for byte. Package shim
// tests other protocol versions.
func TestAnUpgradeDoesNotKillTurns(t *testing.T) {
	t.Parallel()
	old := buildBefore(t)
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			upgrade(programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("HARNESS_DETACH_GRACE_MS=120000")), old)
		})
	}
}

func upgrade(s *programtest.Site, old string) {
	t := s.T
	server := s.StartBinary(old)
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	live := server.Follow("after=0&threadId=" + session)
	if status := live.WaitTurn(
		server.Send(session, "MOCK_REASON MOCK_REPLY[Grüße <&> \u2028 end]")); status != "completed" {
		t.Errorf("the turn before ended %s", status)
	}
	file := filepath.Join(s.Workspace, "upgraded.txt")
	turn := server.Send(session, "MOCK_CMD[touch "+file+"]")
	asked := live.WaitType("approval")
	replayed := server.Follow("after=0&threadId=" + session)
	replayed.WaitType("approval")
	pid := server.RuntimePID()
	if f := shimOf(s); f.State.Version != "1.0.0-before" {
		t.Errorf("the shim is of version %s", f.State.Version)
	}
	server.Kill()
	server = s.Start()
	server.WaitRuntime()
	if again := server.RuntimePID(); again != pid {
		t.Errorf("codex is process %d, was %d", again, pid)
	}
	late := server.Follow("after=0&threadId=" + session)
	late.WaitType("approval")
	requireSameFrames(t, "in a replay", until(replayed, asked.Pos, true), until(late, asked.Pos, true))
	// Text deltas are sent live before they are stored, several together.
	requireSameFrames(t, "live", until(live, asked.Pos, false), until(late, asked.Pos, false))
	server.Decide(programtest.Text(asked.Decoded(), "approvalId"))
	if status := late.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if status := late.WaitTurn(server.Send(session, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
	server.Stop()
	s.RequireNoOrphans()
}

// until returns the frames of events up to a position, with or without text deltas.
func until(f *programtest.Follower, pos int64, deltas bool) (raw []string) {
	for _, frame := range f.All() {
		if frame.Pos > 0 && frame.Pos <= pos && (deltas || frame.Offset == nil) {
			raw = append(raw, frame.Raw)
		}
	}
	return raw
}

func requireSameFrames(t *testing.T, what string, was, is []string) {
	t.Helper()
	if len(was) < 10 || len(was) != len(is) {
		t.Errorf("%d frames were sent %s, %d are replayed", len(was), what, len(is))
	}
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("what was sent %s as\n%s\nis replayed as\n%s", what, was[i], is[i])
		}
	}
}

// buildBefore builds the program of the commit in before, once for each machine.
func buildBefore(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("HARNESS_CACHE")
	if cache == "" {
		cache = filepath.Join("..", "..", "..", ".cache")
	}
	cache, err := filepath.Abs(filepath.Join(cache, "upgrade"))
	if err != nil {
		t.Fatal(err)
	}
	commit := commitBefore(t)
	path := filepath.Join(cache, "harness-"+commit)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	source := t.TempDir()
	archive := filepath.Join(source, "before.tar")
	if out, err := exec.Command("git", "-C", "../../..", "archive", "-o", archive, commit).CombinedOutput(); err != nil {
		t.Fatalf("take commit %s from the repository: %v: %s", commit, err, out)
	}
	if out, err := exec.Command("tar", "-xf", archive, "-C", source).CombinedOutput(); err != nil {
		t.Fatalf("unpack commit %s: %v: %s", commit, err, out)
	}
	built := build(t, source, "1.0.0-before")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	// Another test run may build it concurrently, so the rename publishes only the complete program.
	fresh := fmt.Sprint(path, ".", os.Getpid())
	if out, err := exec.Command("cp", built, fresh).CombinedOutput(); err != nil {
		t.Fatalf("keep %s: %v: %s", built, err, out)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// commitBefore returns the commit to upgrade from. In a shallow clone it is the oldest available one.
func commitBefore(t *testing.T) string {
	t.Helper()
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", "../../.."}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := git("cat-file", "-e", before+"^{commit}"); err == nil {
		return before
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow != "true" {
		t.Fatalf("the upgrade is tried from commit %s, which is not in this repository's history: %v", before, err)
	}
	roots, err := git("rev-list", "--max-parents=0", "HEAD")
	if err != nil || roots == "" {
		t.Fatalf("find the oldest commit of this shallow clone: %v", err)
	}
	oldest := strings.Fields(roots)[0]
	t.Logf("a shallow clone: the upgrade is tried from %s", oldest)
	return oldest
}

// build builds the program of a source folder with a version.
func build(t *testing.T, source, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "harness-"+version)
	if err := programtest.Build(source, "./cmd/harness", path, "-ldflags", "-s -w -X main.version="+version+" -X harness/internal/lib/version.program="+version); err != nil {
		t.Fatal(err)
	}
	return path
}
