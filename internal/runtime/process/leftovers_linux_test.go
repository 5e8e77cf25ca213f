package process_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime/process"
)

// A grandchild in a separate session keeps the pipes and outlives the process: reading ends anyway, and Sweep finds
// it.
func TestSweepFindsWhatLeftTheGroup(t *testing.T) {
	t.Parallel()
	mark := process.Marker(t.TempDir(), "test")
	p := shell(t, `setsid sleep 3600 & echo $!; exit 0`, func(s *process.Spec) { s.Marker = mark })
	<-p.Done()
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
		t.Fatal(err)
	}
	left, err := process.Marked(mark)
	if err != nil || len(left) != 1 {
		t.Fatalf("left: %v, %v", left, err)
	}
	if others, err := process.Marked(mark + "x"); err != nil || len(others) > 0 {
		t.Errorf("another mark finds %v, %v", others, err)
	}
	killed, err := process.Sweep(t.Context(), mark)
	if err != nil || killed != 1 {
		t.Errorf("killed %d, %v", killed, err)
	}
	if killed, err = process.Sweep(t.Context(), mark); err != nil || killed != 0 {
		t.Errorf("killed again %d, %v", killed, err)
	}
}

// Sweep kills the leftovers of a process while others of the same runtime are live. It kills no process of theirs,
// for any number of them.
func TestSweepSparesEveryLivingGeneration(t *testing.T) {
	t.Parallel()
	mark := process.Marker(t.TempDir(), "test")
	const generation = "SOME_GENERATION="
	start := func(name, script string) *process.Process {
		return shell(t, script, func(s *process.Spec) { s.Marker, s.Env = mark, append(s.Env, generation+name) })
	}
	started := func(p *process.Process) {
		t.Helper()
		if line, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil || line == "" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	one, two := start("one", `setsid sleep 3600 & echo $!; wait`), start("two", `setsid sleep 3600 & echo $!; wait`)
	gone := start("gone", `setsid sleep 3600 >&- & echo $!; exit 0`)
	for _, p := range []*process.Process{one, two, gone} {
		started(p)
	}
	<-gone.Done()
	killed, err := process.Sweep(t.Context(), mark, generation+"one", generation+"two")
	if err != nil || killed != 1 {
		t.Errorf("killed %d, %v", killed, err)
	}
	if left, err := process.Marked(mark); err != nil || len(left) != 4 {
		t.Errorf("left: %v, %v", left, err)
	}
	if killed, err := process.Sweep(t.Context(), mark, generation+"one"); err != nil || killed != 2 {
		t.Errorf("killed %d of the second one, %v", killed, err)
	}
	<-two.Done()
}

// The environment of a process in execve reads as empty; Sweep finds the process nevertheless.
func TestAProcessOnItsWayToAnotherProgramIsFound(t *testing.T) {
	t.Parallel()
	mark := process.Marker(t.TempDir(), "test")
	shell(t, `exec sh -c "$AGAIN"`, func(s *process.Spec) {
		s.Marker, s.Env = mark, append(s.Env, `AGAIN=exec sh -c "$AGAIN"`)
	})
	for range 1_000 {
		if found, err := process.Marked(mark); err != nil || len(found) != 1 {
			t.Fatalf("found: %v, %v", found, err)
		}
	}
}

// When the server is killed, its runtime processes end by the parent-death signal, without a sweep.
func TestProcessDiesWithItsParent(t *testing.T) {
	t.Parallel()
	mark := process.Marker(t.TempDir(), "test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(self)
	server.Env = append(os.Environ(), parentVariable+"="+mark)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := process.Marked(mark); err != nil || !slices.Contains(left, pid) {
		t.Fatalf("marked: %v, %v", left, err)
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	deadline := time.Now().Add(30 * time.Second)
	for {
		left, err := process.Marked(mark)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("%v outlived the server", left)
		}
	}
}
