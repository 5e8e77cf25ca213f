package codex_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/codextest"
)

// running starts a turn with a command that runs until it is killed. It returns the turn and the command's process
// id.
func (b *bundle) running(t *testing.T, thread string) (turn string, pid int) {
	t.Helper()
	fifo := filepath.Join(b.cwd, "pid")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	turn = b.turn(t, runtime.StartTurn{ThreadID: thread, ApprovalPolicy: "never"}, "MOCK_CMD[echo $$ > "+fifo+
		"; exec sleep 3600]")
	// Opening the fifo waits for the command.
	said, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(said)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(b.marked(t), pid) {
		t.Fatalf("command %d does not carry the mark; these do: %v", pid, b.marked(t))
	}
	return turn, pid
}

func (b *bundle) marked(t *testing.T) []int {
	t.Helper()
	pids, err := process.Marked(b.mark)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

func (b *bundle) exited(t *testing.T, generation string) runtime.Signal {
	t.Helper()
	return b.wait(t, "the end of "+generation, func(s runtime.Signal) bool {
		return s.Kind == runtime.SignalExited && s.Generation == generation
	})
}

func TestKilledMidTurnIsRestartedAndResumed(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread, other := b.thread(t, runtime.StartThread{}), b.thread(t, runtime.StartThread{})
		b.turn(t, runtime.StartTurn{ThreadID: other}, "MOCK_CMD[touch ./x]")
		asked := b.requested(t, other)
		lost, command := b.running(t, thread)
		before := b.codex.Status()
		if before.State != runtime.StateReady || before.PID == 0 || before.Version != codextest.Number(t, version) {
			t.Errorf("status is %+v", before)
		}
		if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		exit := b.exited(t, before.Generation)
		if exit.Exit == nil || exit.Exit.Signal == nil || *exit.Exit.Signal != "SIGKILL" || exit.Exit.Code != nil {
			t.Errorf("exit is %+v", exit.Exit)
		}
		// When the end is published, the leftovers of the process are gone.
		if slices.Contains(b.marked(t), command) {
			t.Errorf("command %d outlived codex", command)
		}
		if err := b.codex.Answer(t.Context(), ref(asked), runtime.Reply{Decision: "accept"}); !errors.Is(err,
			runtime.ErrRequestGone) {
			t.Errorf("answer after the end: %v", err)
		}
		// The next message waits for the restart and resumes the conversation.
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread, ActiveTurnID: lost}, "Reply with exactly back again")
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Errorf("turn after the restart ended %+v", done)
		}
		after := b.codex.Status()
		if after.Generation == before.Generation || after.Restarts != 1 || after.LastExit == nil {
			t.Errorf("status is %+v", after)
		}
		read, err := b.codex.ReadThread(t.Context(), thread, true)
		if err != nil || len(read.Turns) != 2 || version == codextest.Default &&
			read.Turns[0].Status != runtime.TurnInterrupted {
			t.Errorf("thread after the restart: %+v, %v", read, err)
		}
		b.order(t, before.Generation, after.Generation)
	})
}

// order checks that a process's signals are between its start and its end, and that the next one's come after that.
func (b *bundle) order(t *testing.T, generations ...string) {
	t.Helper()
	var seen []string
	for i, s := range b.all() {
		if last := len(seen) - 1; last < 0 || seen[last] != s.Generation {
			seen = append(seen, s.Generation)
			if s.Kind != runtime.SignalStarted {
				t.Errorf("signal %d: the first of its process is %s %s", i, s.Kind, s.Method)
			}
		}
	}
	if !slices.Equal(seen, generations) {
		t.Errorf("generations came as %v, not %v", seen, generations)
	}
}

func TestStopLeavesNoProcess(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		_, command := b.running(t, thread)
		generation := b.codex.Status().Generation
		stop(t, b.codex)
		if left := b.marked(t); len(left) > 0 {
			t.Errorf("processes %v are left (the command was %d)", left, command)
		}
		signals := b.all()
		if last := signals[len(signals)-1]; last.Kind != runtime.SignalExited || last.Generation != generation {
			t.Errorf("the last signal is %+v", last)
		}
		if status := b.codex.Status(); status.State != runtime.StateStopped || status.PID != 0 {
			t.Errorf("status is %+v", status)
		}
		if _, err := b.codex.StartThread(t.Context(), runtime.StartThread{}); !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("use after stop: %v", err)
		}
		stop(t, b.codex)
	})
}

// A new server sweeps the leftovers of a killed one, before it starts its own codex.
func TestStartSweepsLeftovers(t *testing.T) {
	t.Parallel()
	mark := process.Marker(t.TempDir(), "codex")
	left, err := process.Start(t.Context(), process.Spec{Path: "/bin/sleep", Args: []string{"3600"}, Env: os.Environ(),
		Marker: mark})
	if err != nil {
		t.Fatal(err)
	}
	c := codex.New(codex.Options{Bin: "/nonexistent", Setup: stdio.Setup{Launch: stdio.Launch{Marker: mark, Logger: logger(t)}}})
	start(t, c)
	<-left.Done()
	left.Release()
	if exit := left.Exit(); exit.Signal == nil || *exit.Signal != "SIGKILL" {
		t.Errorf("leftover ended %+v", exit)
	}
}

func TestMissingBinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "codex")
	r := newRecorder()
	c := codex.New(codex.Options{Bin: bin, Home: dir, Setup: stdio.Setup{Launch: stdio.Launch{Logger: logger(t)},
		Supervise: stdio.Options{Sink: r.sink, BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond}}})
	if _, err := c.Call(t.Context(), "model/list", nil); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("before the start: %v", err)
	}
	start(t, c)
	start(t, c)
	_, err := c.StartThread(t.Context(), runtime.StartThread{})
	if !errors.Is(err, runtime.ErrUnavailable) {
		t.Fatalf("start thread: %v", err)
	}
	status := c.Status()
	for _, part := range []string{"CODEX_BIN", "npm install -g @openai/codex", bin} {
		if !strings.Contains(status.Reason, part) || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in the status %+v or the error %v", part, status, err)
		}
	}
	if status.State != runtime.StateUnavailable {
		t.Errorf("status is %+v", status)
	}
	// The adapter finds the program as soon as it exists.
	if err := os.Symlink(codextest.Binary(t, codextest.Oldest), bin); err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the start", func(s runtime.Signal) bool { return s.Kind == runtime.SignalStarted })
	if _, err = c.ListThreads(t.Context(), runtime.ListThreads{}); err != nil {
		t.Errorf("not usable later: %v", err)
	}
}

func TestStoredThreads(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		ctx := t.Context()
		var threads []string
		for i := range 3 {
			thread := b.thread(t, runtime.StartThread{ApprovalPolicy: "on-failure", Sandbox: "workspace-write",
				NetworkAccess: "enabled"})
			b.completed(t, b.turn(t, runtime.StartTurn{
				ThreadID: thread, Effort: "low", ApprovalPolicy: "on-failure",
				Sandbox: []string{"read-only", "workspace-write", "danger-full-access"}[i], NetworkAccess: "enabled", Cwd: b.cwd,
			}, fmt.Sprintf("message %d", i)))
			threads = append(threads, thread)
		}
		if err := b.codex.NameThread(ctx, threads[0], "A name"); err != nil {
			t.Error(err)
		}
		b.wait(t, "the name", func(s runtime.Signal) bool {
			named, ok := s.Change.(runtime.ThreadNamed)
			return ok && named.Name == "A name" && s.ThreadID == threads[0]
		})
		page, err := b.codex.ListThreads(ctx, runtime.ListThreads{Limit: 2})
		if err != nil || len(page.Threads) != 2 || page.NextCursor == "" {
			t.Fatalf("first page: %+v, %v", page, err)
		}
		rest, err := b.codex.ListThreads(ctx, runtime.ListThreads{Limit: 2, Cursor: page.NextCursor})
		if err != nil || len(rest.Threads) != 1 || rest.NextCursor != "" {
			t.Fatalf("second page: %+v, %v", rest, err)
		}
		for _, thread := range append(page.Threads, rest.Threads...) {
			if !slices.Contains(threads, thread.ID) || !strings.HasPrefix(thread.Preview, "message ") ||
				thread.UpdatedAt < 1e12 || thread.Source != "vscode" {
				t.Errorf("listed thread is %+v", thread)
			}
		}
		if err := b.codex.ArchiveThread(ctx, threads[1]); err != nil {
			t.Error(err)
		}
		if b.version == codextest.Default &&
			!slices.ContainsFunc(b.all(), func(s runtime.Signal) bool {
				return s.Method == "thread/archived" && s.ThreadID == threads[1]
			}) {
			t.Error("archived before the news of it was delivered")
		}
		if b.version == codextest.Oldest {
			requireNoWait(t, b, threads[1])
		}
		if page, err = b.codex.ListThreads(ctx, runtime.ListThreads{Archived: true}); err != nil || len(page.Threads) != 1 ||
			!page.Threads[0].Archived {
			t.Errorf("archived: %+v, %v", page, err)
		}
		if thread, err := b.codex.UnarchiveThread(ctx, threads[1]); err != nil || thread.ID != threads[1] {
			t.Errorf("unarchived: %+v, %v", thread, err)
		}
		// It is not loaded; the next message resumes it.
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: threads[1]}, "after the archive"))

		if files, err := b.codex.DeleteThread(ctx, threads[2]); err != nil || files < 1 {
			t.Errorf("deleted %d files, %v", files, err)
		}
		if files, err := b.codex.DeleteThread(ctx, threads[2]); err != nil || files != 0 {
			t.Errorf("deleted again: %d files, %v", files, err)
		}
		found, err := filepath.Glob(filepath.Join(b.home, "sessions", "*", "*", "*", "*"+threads[2]+"*"))
		if err != nil || len(found) > 0 {
			t.Errorf("left after the delete: %v, %v", found, err)
		}
		for _, id := range []string{threads[2], "01a1fbb8-c2da-7e63-acae-680bdab083fd", "no-id"} {
			if _, err := b.codex.ReadThread(ctx, id, true); !errors.Is(err, runtime.ErrThreadNotFound) {
				t.Errorf("read %s: %v", id, err)
			}
			if _, err := b.codex.StartTurn(ctx, runtime.StartTurn{ThreadID: id, Input: text("x")}); !errors.Is(err,
				runtime.ErrThreadNotFound) {
				t.Errorf("turn in %s: %v", id, err)
			}
		}
		var native *runtime.Error
		if _, err := b.codex.Call(ctx, "no/such", nil); !errors.As(err, &native) || native.Code != -32600 ||
			!strings.HasPrefix(err.Error(), "codex rpc error -32600: ") {
			t.Errorf("unknown method: %v", err)
		}
	})
}

// requireNoWait archives until a call takes less than the wait for the notification: for a version without one there
// is no wait. One such call is enough, because the machine may be busy.
func requireNoWait(t *testing.T, b *bundle, thread string) {
	t.Helper()
	for range 20 {
		if _, err := b.codex.UnarchiveThread(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := b.codex.ArchiveThread(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) < 250*time.Millisecond {
			return
		}
	}
	t.Error("archiving always waits for news that never come")
}

func TestThreadWithoutTurnReads(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{Implicit: runtime.ImplicitHome, RawEvents: true})
		read, err := b.codex.ReadThread(t.Context(), thread, true)
		if err != nil || read.ID != thread || len(read.Turns) != 0 {
			t.Errorf("read: %+v, %v", read, err)
		}
		if _, err := b.codex.DeleteThread(t.Context(), thread); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
}
