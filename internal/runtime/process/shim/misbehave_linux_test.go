package shim_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/tests/disktest"
)

// The kill of a shim kills its runtime at once, even one that ignores SIGTERM; the attached server is notified.
func TestARuntimeDiesWithItsShim(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`trap '' TERM; echo ready; while :; do sleep 1; done`, nil)
	r := bufio.NewReader(a)
	line(t, r)
	began := time.Now()
	if err := syscall.Kill(a.State.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.end(a)
	if took := time.Since(began); took > slowness*3*time.Second {
		t.Errorf("it took %v", took)
	}
	if exit := a.Exit(); !strings.Contains(exit.Reason, "shim") {
		t.Errorf("exit %+v", exit)
	}
}

// A runtime that ignores SIGTERM and has forked, into other groups and sessions too, is gone after stop: no process
// is left.
func TestNothingIsLeftAfterStop(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`trap '' TERM; sleep 300 & setsid sleep 300 & setsid setsid sh -c 'sleep 300; :' & echo ready; while :; do sleep 1; done`,
		nil)
	r := bufio.NewReader(a)
	line(t, r)
	p.eventually("the shim, the shell and what it forked are up", func() bool { return len(p.left()) >= 6 })
	began := time.Now()
	go a.Stop(100 * time.Millisecond)
	p.end(a)
	if took := time.Since(began); took > slowness*5*time.Second {
		t.Errorf("it took %v", took)
	}
	if exit := a.Exit(); exit.Signal == nil || *exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", exit)
	}
}

// Stderr never blocks the runtime, is bounded on disk, and does not mix with stdout.
func TestAFloodOfStderrIsDrained(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`head -c 20000000 /dev/zero | tr '\0' 'x' | fold -w 100 >&2; echo done`, nil)
	dir := filepath.Join(p.host.RunDir, a.State.Generation)
	r := bufio.NewReader(a)
	if got := line(t, r); got != "done" {
		t.Errorf("got %q", got)
	}
	size := int64(0)
	for _, name := range []string{"stderr.log", "stderr.log.old"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			size += info.Size()
		}
	}
	if size == 0 || size > 3<<20 {
		t.Errorf("the log has %d bytes", size)
	}
	p.end(a)
}

// Lines of 64 MiB pass both ways, byte for byte, and the shim stays small. The spool deletes acknowledged output.
func TestA64MiBLinePassesBothWays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`cat`, nil)
	long := strings.Repeat("0123456789abcdef", 4<<20)
	failed := make(chan error, 1)
	go func() {
		_, err := a.Write([]byte(long + "\n"))
		failed <- err
	}()
	r := bufio.NewReaderSize(a, 1<<16)
	if got := line(t, r); got != long {
		t.Errorf("%d bytes came back, want %d", len(got), len(long))
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
	if before := shim.SpoolBytes(p.host.RunDir); before != int64(len(long))+1 {
		t.Errorf("%d bytes are spooled", before)
	}
	a.Ack(int64(len(long)) + 1)
	p.eventually("acknowledged files are removed", func() bool { return shim.SpoolBytes(p.host.RunDir) <= 4<<20+1 })
	if status, err := shim.Status(t.Context(), p.found()[0]); err != nil || status.Acked != int64(len(long))+1 ||
		!status.Attached {
		t.Errorf("status %+v, %v", status, err)
	}
	go a.Stop(0)
	p.end(a)
}

// A runtime writes half a line and dies: the server gets the half and the exit with its code, and nothing hangs.
func TestHalfALineAndDeath(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`printf 'whole\nhal'; exit 7`, nil)
	if rest := p.end(a); rest != "whole\nhal" {
		t.Errorf("got %q", rest)
	}
	if exit := a.Exit(); exit.Code == nil || *exit.Code != 7 {
		t.Errorf("exit %+v", exit)
	}
}

// If a server dies in the middle of a line, the runtime gets nothing of the line.
func TestHalfALineFromADyingServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`cat`, nil)
	var written atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := a.Write([]byte(strings.Repeat("x", 256<<20) + "\n"))
		written.Store(err == nil)
	}()
	<-ended
	if written.Load() {
		t.Fatal("the line was written whole: the test lost its point")
	}
	a.Detach()
	b := p.attach(0)
	write(t, b, "", "whole")
	if got := line(t, bufio.NewReader(b)); got != "whole" {
		t.Errorf("got %d bytes %.20q", len(got), got)
	}
	go b.Stop(0)
	p.end(b)
}

// The runtime gets lines with the same key once, from any server.
func TestAKeyedLinePassesOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`cat`, nil)
	write(t, a, "answer:0", "yes")
	write(t, a, "answer:0", "yes again")
	a.Detach()
	b := p.attach(0)
	write(t, b, "answer:0", "yes from the next")
	write(t, b, "answer:1", "other")
	r := bufio.NewReader(b)
	if got := line(t, r) + " " + line(t, r); got != "yes other" {
		t.Errorf("got %q", got)
	}
	go b.Stop(0)
	p.end(b)
}

// A full disk blocks the runtime: when there is space again, all its output arrives once.
func TestAFullDiskIsBackPressure(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	disk := disktest.New(t, "8m")
	p.host.RunDir = filepath.Join(disk.Path, "run")
	progress := filepath.Join(t.TempDir(), "progress")
	const chunks, chunk = 32, 64 << 10
	a := p.sh(fmt.Sprintf(
		`echo first; read go; i=0; while [ $i -lt %d ]; do head -c %d /dev/zero | tr '\0' "$i"; i=$((i+1)); echo $i >%s; done; echo end`,
		chunks, chunk, progress), nil)
	r := bufio.NewReader(a)
	line(t, r)
	disk.Fill()
	write(t, a, "", "go")
	p.eventually("the shim has something to write", func() bool {
		said, err := os.ReadFile(progress)
		return err == nil && len(said) > 0
	})
	disk.Free()
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range chunks {
		digits := fmt.Sprint(i)
		want.WriteString(strings.Repeat(digits[:1], chunk))
	}
	if want.WriteString("end\n"); string(rest) != want.String() {
		t.Errorf("%d bytes came, want %d", len(rest), want.Len())
	}
	if exit := a.Exit(); exit.Code == nil || *exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	p.end(a)
}

// If the spool can never be written again (a file size limit on the shim), the shim stops the runtime. Earlier output
// is still there, and the exit has the reason.
func TestASpoolThatCannotBeWrittenStopsTheRuntime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`trap 'exit 5' TERM; echo first; read go; i=0; while :; do i=$((i+1)); echo "line $i of many that fill the disk"; done`,
		nil)
	r := bufio.NewReader(a)
	line(t, r)
	limitFileSize(t, a.State.PID, 4096)
	write(t, a, "", "go")
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(rest) != 4096-len("first\n") {
		t.Errorf("%d bytes came, want all that fitted", len(rest))
	}
	if exit := a.Exit(); !strings.Contains(exit.Reason, "output could not be kept") {
		t.Errorf("exit %+v", exit)
	}
	p.end(a)
}

// A spool that is full without acknowledgments stops the reading, not the runtime; an acknowledgment resumes it.
func TestAFullSpoolIsBackPressure(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const limit = 1 << 20
	a := p.sh(`head -c 8388608 /dev/zero | tr '\0' 'y'; echo; echo end`, func(s *shim.Spec) {
		s.SpoolBytes, s.SegmentBytes = limit, limit/4
	})
	p.eventually("the spool is full", func() bool {
		status, err := shim.Status(t.Context(), p.found()[0])
		return err == nil && status.End > limit-(128<<10)
	})
	total, buffer := int64(0), make([]byte, 64<<10)
	for {
		n, err := a.Read(buffer)
		total += int64(n)
		a.Ack(total)
		if err != nil {
			break
		}
		// Files may appear and disappear during the sum.
		if held := shim.SpoolBytes(p.host.RunDir); held > 2*limit {
			t.Fatalf("%d bytes on disk", held)
		}
	}
	if total != 8388608+1+4 {
		t.Errorf("%d bytes came", total)
	}
	p.end(a)
}

// Without a server the shim ends the runtime after the grace; its last output waits for the next server.
func TestShimEndsWithoutReattach(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done`, func(s *shim.Spec) {
		s.DetachGrace = 50 * time.Millisecond
	})
	r := bufio.NewReader(a)
	line(t, r)
	a.Detach()
	p.eventually("everything is gone", func() bool { return len(p.left()) == 0 })
	// A process that is exiting loses its environment, by which the test finds it, before it is gone.
	found := p.found()
	p.eventually("the shim has ended", func() bool { found = p.found(); return len(found) != 1 || !found[0].Alive })
	if len(found) != 1 || found[0].State.Exit == nil {
		t.Fatalf("found %+v", found)
	}
	b := shim.Replay(found[0], int64(len("ready\n")))
	if rest := p.end(b); rest != "bye\n" {
		t.Errorf("got %q", rest)
	}
	if exit := b.Exit(); !strings.Contains(exit.Reason, "no server attached") {
		t.Errorf("exit %+v", exit)
	}
}

// The shim reports a missing runtime in one line, and nothing is left.
func TestMissingRuntimeIsReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, err := p.host.Spawn(t.Context(), shim.Spec{Generation: "01900000-0000-7000-8000-000000000000", Runtime: "test",
		Path: "/no/such", Marker: p.mark},
		append(os.Environ(), runVariable+"=1"), nil)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	if all := p.found(); len(all) != 0 || len(p.left()) != 0 {
		t.Errorf("left: %v %v", all, p.left())
	}
}

// After a crash of the machine, unsynced data is garbage, and the ids in synced data may belong to other processes.
// Neither stops a server from starting. It kills no wrong process, and the folders can be read and removed.
func TestFoldersOfAnotherBoot(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`echo said; cat`, nil)
	line(t, bufio.NewReader(a))
	a.Detach()
	living := p.found()[0]
	state, err := os.ReadFile(filepath.Join(living.Dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(p.host.RunDir, "00000000-0000-7000-8000-000000000001")
	for name, content := range map[string]string{
		"state.json":                     strings.Replace(string(state), process.Boot(), "another-boot", 1),
		"spool/00000000000000000000.seg": "said before\n",
	} {
		path := filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := filepath.Join(p.host.RunDir, "00000000-0000-7000-8000-000000000002")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "state.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found := p.found()
	if len(found) != 3 || found[0].Alive || found[1].Alive || !found[2].Alive {
		t.Fatalf("found %+v", found)
	}
	for _, f := range found[:2] {
		after, killed, err := shim.Reap(t.Context(), f)
		if err != nil || killed != 0 {
			t.Errorf("reaped %d, %v", killed, err)
		}
		gone := shim.Replay(after, 0)
		rest, err := io.ReadAll(gone)
		if want := map[string]string{copied: "said before\n"}[f.Dir]; err != nil || string(rest) != want {
			t.Errorf("it had said %q, %v", rest, err)
		}
		gone.Release()
		gone.Forget()
	}
	b := p.attach(0)
	go b.Stop(0)
	if rest := p.end(b); rest != "said\n" {
		t.Errorf("the living one said %q", rest)
	}
}

// An unreachable shim is reaped with all processes it started.
func TestAStuckShimIsReaped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`setsid sleep 300 & echo said; while :; do sleep 1; done`, nil)
	line(t, bufio.NewReader(a))
	if err := syscall.Kill(a.State.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	a.Detach()
	after, killed, err := shim.Reap(t.Context(), p.found()[0])
	if err != nil || killed < 2 || after.Alive {
		t.Errorf("killed %d, %v, alive %v", killed, err, after.Alive)
	}
	b := shim.Replay(after, 0)
	if rest := p.end(b); rest != "said\n" {
		t.Errorf("got %q", rest)
	}
	_ = process.MarkVariable
}
