package codex_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/tests/codextest"
	"harness/tests/polling"
)

// hangAfter is short, but longer than a healthy codex needs to answer on a machine that is busy with other tests.
const hangAfter = 3 * time.Second

func exited(s runtime.Signal) bool { return s.Kind == runtime.SignalExited }

func (b *bundle) state(t *testing.T, want runtime.State) runtime.Status {
	t.Helper()
	return awaitState(t, b.codex, want)
}

func awaitState(t *testing.T, c *codex.Codex, want runtime.State) runtime.Status {
	t.Helper()
	var status runtime.Status
	if !polling.Until(patience, func() bool {
		status = c.Status()
		return status.State == want
	}) {
		t.Fatalf("the state is %s (%s), never %s", status.State, status.Reason, want)
	}
	return status
}

// The supervisor detects and replaces a codex that is stopped in the middle of a turn: as a child, behind a shim, and
// when the shim itself is stopped. Its thread continues in the next process with its history.
func TestFrozenCodexIsDetectedAndReplaced(t *testing.T) {
	t.Parallel()
	for name, frozen := range map[string]func(runtime.Status) int{
		"child":       func(s runtime.Status) int { return s.PID },
		"behind shim": func(s runtime.Status) int { return s.PID },
		"shim":        func(s runtime.Status) int { return s.Shim.PID },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupWith(t, codextest.Default, func(o *codex.Options) {
				o.Setup.Supervise.HangAfter = hangAfter
				if name != "child" {
					o.Setup.Launch.Shims, o.Setup.Launch.Detach = newSurvivor(t, "").host, true
				}
			})
			thread := b.thread(t, runtime.StartThread{})
			b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_REPLY[remember the plum]"))
			b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_HOLD[for ever]")
			b.wait(t, "the turn is under way", func(s runtime.Signal) bool { return s.Method == "item/agentMessage/delta" })

			before := b.state(t, runtime.StateReady)
			if err := syscall.Kill(frozen(before), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if status := b.state(t, runtime.StateUnresponsive); status.PID != before.PID ||
				!strings.Contains(status.Reason, "HARNESS_RUNTIME_HANG_MS") {
				t.Errorf("unresponsive is reported as %+v", status)
			}
			end := b.wait(t, "its end", exited)
			if end.Exit.Reason != "it did not answer for 3s" || end.Generation != before.Generation {
				t.Errorf("it ended with %+v", end.Exit)
			}
			if n := b.codex.Counters().Hangs; n != 1 {
				t.Errorf("%d hangs are counted", n)
			}
			again := b.turn(t, runtime.StartTurn{ThreadID: thread}, "hello again")
			b.completed(t, again)
			requests := b.model.Requests()
			if last := requests[len(requests)-1]; !strings.Contains(string(last.Body), "remember the plum") {
				t.Error("the thread went on without its history")
			}
		})
	}
}

// A codex that responds again in time continues normally.
func TestACodexThatAnswersAgainIsReady(t *testing.T) {
	t.Parallel()
	b := setupWith(t, codextest.Default, func(o *codex.Options) { o.Setup.Supervise.HangAfter = 8 * time.Second })
	thread := b.thread(t, runtime.StartThread{})
	before := b.state(t, runtime.StateReady)
	if err := syscall.Kill(before.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.state(t, runtime.StateUnresponsive)
	if err := syscall.Kill(before.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// A message that arrived during the stop waits for it.
	b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "hello"))
	if after := b.codex.Status(); after.PID != before.PID || b.codex.Counters().Hangs != 0 {
		t.Errorf("it was replaced: %+v", after)
	}
}

// A codex that accepts requests and never answers them is replaced like a stopped one.
func TestUnresponsiveCodexIsReplaced(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "mute", func(_ *faultBundle, o *codex.Options) { o.Setup.Supervise.HangAfter = 400 * time.Millisecond })
	_, err := b.codex.Call(t.Context(), "silent", nil)
	if !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("the call that hung: %v", err)
	}
	if end := b.wait(t, "its end", exited); end.Exit.Reason != "it did not answer for 400ms" {
		t.Errorf("it ended with %+v", end.Exit)
	}
}

// A long silent tool call and an undecided approval are not a hang, in any version.
func TestAQuietTurnIsNoHang(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setupWith(t, version, func(o *codex.Options) { o.Setup.Supervise.HangAfter = 2 * time.Second })
		quiet := b.thread(t, runtime.StartThread{ApprovalPolicy: "never", Sandbox: "danger-full-access"})
		asking := b.thread(t, runtime.StartThread{})
		b.turn(t, runtime.StartTurn{ThreadID: asking}, "MOCK_PATCH[quiet.txt]")
		request := b.requested(t, asking)
		// exec_command stops waiting after 10 s; the turn is silent until then.
		turn := b.turn(t, runtime.StartTurn{ThreadID: quiet}, "MOCK_CMD[sleep 7]")
		b.completed(t, turn)
		b.answer(t, request, runtime.Reply{Decision: "decline"})
		b.completed(t, request.TurnID)
		if hangs, status := b.codex.Counters().Hangs, b.codex.Status(); hangs != 0 ||
			status.Generation != request.Generation {
			t.Errorf("%d hangs; the process is %+v", hangs, status)
		}
	})
}
