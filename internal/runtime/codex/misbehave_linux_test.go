package codex_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
)

// For any fault of a codex behind a shim, the adapter's state is right and nothing remains of codex: no process, no
// folder.
func TestABadCodexBehindAShimLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(t *testing.T, b *faultBundle){
		"hang": func(t *testing.T, b *faultBundle) {
			b.wait(t, "the end of the hanging process", exited)
			if status := b.codex.Status(); status.State == runtime.StateReady || status.Shim != nil {
				t.Errorf("it is %+v", status)
			}
			if n := b.count(func(s runtime.Signal) bool { return s.Kind == runtime.SignalStarted }); n != 0 {
				t.Error("it never started")
			}
		},
		"stubborn": func(t *testing.T, b *faultBundle) {
			b.call(t, "fork")
			if left, err := process.Marked(b.mark); err != nil || len(left) < 5 {
				t.Errorf("it, its shim and what it forked are %v, %v", left, err)
			}
			stop(t, b.codex)
			if exit := b.codex.Status().LastExit; exit == nil || exit.Signal == nil || *exit.Signal != "SIGKILL" {
				t.Errorf("it ended %+v", exit)
			}
		},
		"flood": func(t *testing.T, b *faultBundle) {
			b.call(t, "most")
			if status := b.codex.Status(); status.State != runtime.StateReady || status.Shim == nil {
				t.Errorf("it is %+v", status)
			}
		},
		"long": func(t *testing.T, b *faultBundle) {
			b.call(t, "long")
			long := func(s runtime.Signal) bool { return s.Method == "huge" }
			s := b.wait(t, "the long line", long)
			if offset, _ := b.batchOf(long); len(s.Raw) < 64<<20 || offset < 64<<20 {
				t.Errorf("%d bytes came, up to %d", len(s.Raw), offset)
			}
		},
		"half": func(t *testing.T, b *faultBundle) {
			if _, err := b.codex.Call(t.Context(), "half", nil); !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("call: %v", err)
			}
			b.wait(t, "the end", exited)
			if n := b.count(func(s runtime.Signal) bool { return s.Method == "half/line" }); n != 0 {
				t.Error("half a line became a signal")
			}
		},
		"crash": func(t *testing.T, b *faultBundle) {
			if s := b.wait(t, "the end", exited); s.Exit.Code == nil || *s.Exit.Code != 7 {
				t.Errorf("it ended %+v", s.Exit)
			}
			b.wait(t, "another start that fails", exited)
			if !strings.Contains(b.log.String(), "crashing at once") {
				t.Error("stderr is not in the log")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSurvivor(t, name)
			b := s.server(0, func(o *codex.Options) {
				if name == "hang" {
					o.Setup.Supervise.StartTimeout = 500 * time.Millisecond
				}
			})
			b.mark = s.mark
			play(t, b)
			stop(t, b.codex)
			if left, err := process.Marked(s.mark); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			for _, f := range s.found() {
				// A shim with an unstored end waits for the next server; this sink stores nothing.
				if f.Alive {
					t.Errorf("shim %d is alive", f.State.PID)
				}
			}
		})
	}
}
