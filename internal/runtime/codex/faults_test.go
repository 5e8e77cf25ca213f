package codex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/polling"
)

// lockedBuffer collects log lines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

type faultBundle struct {
	*recorder
	codex *codex.Codex
	log   *lockedBuffer
	mark  string
}

// misbehaving starts an adapter with this test binary as a codex in one of its faulty modes.
func misbehaving(t *testing.T, mode string, change func(*faultBundle, *codex.Options)) *faultBundle {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &faultBundle{recorder: newRecorder(), log: &lockedBuffer{}, mark: process.Marker(t.TempDir(), "fake")}
	options := codex.Options{
		Bin: self, Setup: stdio.Setup{
			Launch:    stdio.Launch{Marker: b.mark, Logger: zerolog.New(b.log), Env: []string{fakeVariable + "=" + mode}},
			Supervise: stdio.Options{Sink: b.sink, BackoffMin: time.Millisecond, BackoffMax: 50 * time.Millisecond},
		},
	}
	if change != nil {
		change(b, &options)
	}
	b.codex = codex.New(options)
	start(t, b.codex)
	return b
}

func (b *faultBundle) call(t *testing.T, method string) string {
	t.Helper()
	result, err := b.codex.Call(t.Context(), method, map[string]any{})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return string(result)
}

func TestHangingStartIsBounded(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "hang", func(_ *faultBundle, o *codex.Options) { o.Setup.Supervise.StartTimeout = 200 * time.Millisecond })
	b.wait(t, "the end of the hanging process", func(s runtime.Signal) bool { return s.Kind == runtime.SignalExited })
	var err error
	for err == nil || !strings.Contains(err.Error(), "did not answer initialize") {
		if _, err = b.codex.Call(t.Context(), "model/list", nil); !errors.Is(err, runtime.ErrUnavailable) {
			t.Fatalf("call: %v", err)
		}
	}
	for _, s := range b.all() {
		if s.Kind == runtime.SignalStarted {
			t.Error("it never started")
		}
	}
}

// The adapter refuses a codex older than the tested versions. The caller's error has the required version and the way
// to get it.
func TestACodexThatIsTooOldIsNamed(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "old", nil)
	b.wait(t, "the end of the old codex", func(s runtime.Signal) bool { return s.Kind == runtime.SignalExited })
	var err error
	for err == nil || !strings.Contains(err.Error(),
		"codex 0.98.1 is too old: at least 0.101.0 is needed; install it with: npm install -g @openai/codex") {
		if _, err = b.codex.Call(t.Context(), "model/list", nil); !errors.Is(err, runtime.ErrUnavailable) {
			t.Fatalf("call: %v", err)
		}
	}
}

func TestCrashingStartBacksOff(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "crash", nil)
	seen := 0
	exit := b.wait(t, "the third crash", func(s runtime.Signal) bool {
		if s.Kind == runtime.SignalExited {
			seen++
		}
		return seen == 3
	})
	if exit.Exit == nil || exit.Exit.Code == nil || *exit.Exit.Code != 7 {
		t.Errorf("exit is %+v", exit.Exit)
	}
	if !strings.Contains(b.log.String(), "crashing at once") {
		t.Errorf("stderr is not in the log: %s", b.log.String())
	}
}

func TestStderrFloodIsDrainedAndBounded(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "flood", nil)
	b.call(t, "most")
	stop(t, b.codex)
	log := b.log.String()
	if !strings.Contains(log, "more lines dropped") {
		t.Error("nothing says that lines were dropped")
	}
	// The process wrote 100,000 lines; the log may have far fewer, even on a slow machine.
	if kept := strings.Count(log, "xxxx\""); kept == 0 || kept > 50_000 {
		t.Errorf("%d lines were kept", kept)
	}
	if longest := len(log) / max(1, strings.Count(log, "\n")); longest > 16<<10 {
		t.Errorf("lines are %d bytes on average", longest)
	}
}

func TestGarbageIsTolerated(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "", func(_ *faultBundle, o *codex.Options) { o.Setup.Launch.Env = []string{fakeVariable + "=garbage"} })
	b.call(t, "garbage")
	last := b.wait(t, "what comes after the garbage", func(s runtime.Signal) bool { return s.Method == "after/garbage" })
	if last.Params != nil {
		t.Errorf("params null became %s", last.Params)
	}
	var methods []string
	for _, s := range b.all() {
		if s.Kind != runtime.SignalNotification {
			continue
		}
		methods = append(methods, s.Method)
		if !utf8.Valid(s.Raw) || !json.Valid(s.Raw) || s.Change != nil {
			t.Errorf("%s: raw is %s, change %v", s.Method, short(s.Raw), s.Change)
		}
		if s.Method == "huge" && len(s.Raw) < 64<<20 {
			t.Errorf("huge came with %d bytes", len(s.Raw))
		}
	}
	if got := strings.Join(methods, " "); got != "bad/utf8 item/started huge after/garbage" {
		t.Errorf("signals are %s", got)
	}
	got := b.codex.Counters()
	if got.Undecodable != 7 || got.Oversized != 1 || got.Late != 1 || got.Legacy != 1 {
		t.Errorf("counters are %+v", got)
	}
}

func TestHalfLineAtTheEndIsDropped(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "half", nil)
	if _, err := b.codex.Call(t.Context(), "half", nil); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("call: %v", err)
	}
	b.wait(t, "the end", func(s runtime.Signal) bool { return s.Kind == runtime.SignalExited })
	for _, s := range b.all() {
		if s.Method == "half/line" {
			t.Error("a half line became a signal")
		}
	}
}

func TestStubbornProcessIsKilled(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "stubborn", nil)
	b.call(t, "most")
	pid := b.codex.Status().PID
	stop(t, b.codex)
	exit := b.codex.Status().LastExit
	if exit == nil || exit.Signal == nil || *exit.Signal != "SIGKILL" {
		t.Errorf("process %d ended %+v", pid, exit)
	}
	if left, err := process.Marked(b.mark); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestDeathFailsCallsInFlight(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", nil)
	b.call(t, "most")
	failed := make(chan error, 1)
	go func() {
		_, err := b.codex.Call(context.Background(), "silent", nil)
		failed <- err
	}()
	if _, err := b.codex.Call(t.Context(), "die", nil); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("die: %v", err)
	}
	// If the first process was already gone, the message went to the next one; that one dies, too.
	for {
		select {
		case err := <-failed:
			if !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("in flight: %v", err)
			}
			return
		default:
			_, _ = b.codex.Call(t.Context(), "die", nil)
		}
	}
}

func TestCallTimesOut(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", func(_ *faultBundle, o *codex.Options) { o.Setup.Supervise.CallTimeout = 300 * time.Millisecond })
	if _, err := b.codex.Call(t.Context(), "silent", nil); !errors.Is(err, runtime.ErrTimeout) {
		t.Errorf("silent: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.codex.Call(ctx, "silent", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// The process is still healthy; on a busy machine its answer may need a second call, too.
	var err error
	for err = runtime.ErrTimeout; errors.Is(err, runtime.ErrTimeout); {
		_, err = b.codex.Call(t.Context(), "most", nil)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestAtMost32InFlight(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", nil)
	var all sync.WaitGroup
	for range 96 {
		all.Go(func() { b.call(t, "gather") })
	}
	all.Wait()
	if most := b.call(t, "most"); most != "32" {
		t.Errorf("%s requests were open at once", most)
	}
}

func TestOverloadIsRetriedWhereItIsSafe(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", nil)
	if _, err := b.codex.ListThreads(t.Context(), runtime.ListThreads{}); err != nil {
		t.Errorf("list: %v", err)
	}
	var native *runtime.Error
	if _, err := b.codex.Call(t.Context(), "busy", nil); !errors.As(err, &native) || native.Code != -32001 {
		t.Errorf("busy: %v", err)
	}
	if tries := b.call(t, "refusals"); tries != "4" {
		t.Errorf("%s tries were made, not 3 of one and 1 of the other", tries)
	}
}

// ST-27: clients see an unknown request. The server refuses it, so that the turn continues.
func TestUnknownRequestIsRefused(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", nil)
	b.call(t, "ask")
	asked := b.wait(t, "the request", func(s runtime.Signal) bool { return s.Kind == runtime.SignalRequest })
	if asked.Change != nil || string(asked.RequestID) != `"q-1"` || asked.ThreadID != "t1" {
		t.Errorf("request is %+v", asked)
	}
	seen := b.wait(t, "the refusal", func(s runtime.Signal) bool { return s.Method == "answer/seen" })
	if got := string(seen.Params); got != `{"id":"q-1","error":{"code":-32601,"message":"method not supported by this `+
		`client: some/newRequest"}}` {
		t.Errorf("refusal is %s", got)
	}
}

func TestTurnCompletedOvertakesItsStart(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", nil)
	for _, want := range []string{"turn-1", "turn-2"} {
		got, err := b.codex.StartTurn(t.Context(), runtime.StartTurn{ThreadID: "t1", Input: text("x")})
		if err != nil || got.TurnID != want || got.Steered {
			t.Fatalf("turn: %+v, %v", got, err)
		}
	}
}

// A sink that accepts nothing stops the reading; no line is lost and the order stays.
func TestBackPressureLosesNothing(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	b := misbehaving(t, "x", func(b *faultBundle, _ *codex.Options) { b.block = block })
	called := make(chan error, 1)
	go func() {
		_, err := b.codex.Call(context.Background(), "burst", nil)
		called <- err
	}()
	select {
	case err := <-called:
		t.Fatalf("the burst was read although the sink did not accept it: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	close(block)
	if err := <-called; err != nil {
		t.Fatal(err)
	}
	next := 0
	b.wait(t, "all of the burst", func(s runtime.Signal) bool {
		if s.Method != "burst" {
			return false
		}
		var p struct{ I int }
		if err := json.Unmarshal(s.Params, &p); err != nil || p.I != next {
			t.Fatalf("%d came instead of %d (%v)", p.I, next, err)
		}
		next++
		return next == 20_000
	})
}

// The process ends with the adapter even when SIGSTOP has stopped codex.
func TestStopWorksOnAFrozenProcess(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "x", nil)
	b.call(t, "most")
	pid := b.codex.Status().PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The signal stops the threads one by one: until then the process still notices the end of its input.
	if !polling.Until(10*time.Second, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(stat), ") ")
		return err != nil || strings.HasPrefix(after, "T") // err: no such process, or no such folder
	}) {
		t.Fatal("the process does not stop")
	}
	stop(t, b.codex)
	if exit := b.codex.Status().LastExit; exit == nil || exit.Signal == nil || *exit.Signal != "SIGKILL" {
		t.Errorf("process ended %+v", exit)
	}
}
