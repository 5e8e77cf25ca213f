package codex_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process/shim"
	"harness/tests/polling"
)

// runAsShim is the first argument that makes the test binary a shim; the shim's folder follows.
const runAsShim = "test-shim"

func runShim(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if shim.Run(ctx, dir, os.NewFile(3, "ready")) != nil {
		return 1
	}
	return 0
}

// survivor is a run folder with a fake codex that outlives the adapters of a test.
type survivor struct {
	t    *testing.T
	host *shim.Host
	mark string
	mode string
}

func newSurvivor(t *testing.T, mode string) *survivor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	s := &survivor{t: t, mark: "fake-" + uuid.NewString(), mode: mode,
		host: &shim.Host{RunDir: dir, Command: []string{self, runAsShim}, Version: "test"}}
	t.Cleanup(func() {
		for _, f := range s.found() {
			if _, _, err := shim.Reap(context.Background(), f); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func (s *survivor) found() []shim.Found {
	s.t.Helper()
	found, err := shim.Discover(s.host.RunDir)
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// server starts an adapter that continues with the processes of the earlier one, from an offset on.
func (s *survivor) server(from int64, change func(*codex.Options)) *faultBundle {
	s.t.Helper()
	return misbehaving(s.t, s.mode, func(_ *faultBundle, o *codex.Options) {
		o.Setup.Launch.Marker, o.Setup.Launch.Shims, o.Setup.Launch.Detach = s.mark, s.host, true
		o.Setup.Supervise.Resume = func(context.Context, string) (runtime.Resumption, error) {
			return runtime.Resumption{Offset: from}, nil
		}
		if change != nil {
			change(o)
		}
	})
}

func keepOnStop(o *codex.Options) { o.Setup.Supervise.KeepOnStop = true }

// status returns the state of the one shim, once it matches.
func (s *survivor) status(what string, ok func(shim.State) bool) shim.State {
	s.t.Helper()
	var state shim.State
	if !polling.Until(patience, func() bool {
		found := s.found()
		if len(found) != 1 || !found[0].Alive {
			return false
		}
		var err error
		state, err = shim.Status(s.t.Context(), found[0])
		return err == nil && ok(state)
	}) {
		s.t.Fatalf("never: %s", what)
	}
	return state
}

func openCalls(n int) func(shim.State) bool {
	return func(state shim.State) bool { return len(state.Calls) == n }
}

// leaveOpen makes a call on a server and stops the server before the answer.
func (s *survivor) leaveOpen(method string) {
	s.t.Helper()
	b := s.server(0, keepOnStop)
	b.call(s.t, "most")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.codex.Call(context.Background(), method, json.RawMessage(`{"threadId":"t1"}`))
	}()
	s.status("the call is under way and the one before it settled", func(state shim.State) bool {
		return len(state.Calls) == 1 && strings.Contains(state.Calls[0].Label, method)
	})
	stop(s.t, b.codex)
	<-ended
}

func unanswered(s runtime.Signal) bool { return s.Kind == runtime.SignalUnanswered }

func (b *faultBundle) count(match func(runtime.Signal) bool) (n int) {
	for _, s := range b.all() {
		if match(s) {
			n++
		}
	}
	return n
}

// If codex does not answer a call of a dead server in time, one of the servers reports it once, and none repeats it.
func TestAnUnansweredCallIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, "x")
	s.leaveOpen("silent")
	next := s.server(0, func(o *codex.Options) {
		o.Setup.Supervise.KeepOnStop, o.Setup.Supervise.CallTimeout = true, 300*time.Millisecond
	})
	report := next.wait(t, "the report", unanswered)
	offset, stored := next.batchOf(unanswered)
	if report.Method != "silent" || report.ThreadID != "t1" || offset != 0 {
		t.Errorf("report %+v at %d", report, offset)
	}
	stored()
	s.status("the report is settled", openCalls(0))
	stop(t, next.codex)
	last := s.server(0, nil)
	last.call(t, "most")
	stop(t, last.codex)
	if n := last.count(unanswered); n != 0 {
		t.Errorf("it was reported %d times more", n)
	}
}

// An answer that arrives after its server died settles the call, for the next server and the one after it.
func TestALateAnswerSettlesACall(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, "x")
	s.leaveOpen("hold")
	next := s.server(0, nil)
	next.call(t, "release")
	s.status("nothing is open", openCalls(0))
	stop(t, next.codex)
	if n := next.count(unanswered); n != 0 {
		t.Errorf("an answered call was reported %d times", n)
	}
}

// The server reports a call that was open when codex exited, before it reports the exit.
func TestTheEndOfCodexReportsItsCalls(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, "x")
	s.leaveOpen("silent")
	next := s.server(0, nil)
	next.call(t, "most")
	stop(t, next.codex)
	signals := next.all()
	if len(signals) < 2 || !unanswered(signals[len(signals)-2]) || signals[len(signals)-1].Kind != runtime.SignalExited {
		t.Errorf("the last signals are %+v\n%s", signals, next.log.String())
	}
}

// The dead server had read and stored an answer, but had not acknowledged it to the shim: the next one finds it in
// the spool.
func TestAnAnswerThatWasReadBeforeIsFoundInTheSpool(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, "x")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.host.Spawn(t.Context(), shim.Spec{Generation: uuid.Must(uuid.NewV7()).String(), Runtime: codex.Name,
		Path: self, Args: []string{"app-server"}, Marker: s.mark}, append(os.Environ(), fakeVariable+"=x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(a)
	var read int64
	for id, label := range map[string]string{"7": `{"id":7,"method":"most","thread":"t1"}`,
		"8": `{"id":8,"method":"silent","thread":"t1"}`} {
		method := map[string]string{"7": "most", "8": "silent"}[id]
		if _, err := a.WriteCall(label, []byte(`{"id":`+id+`,"method":"`+method+`"}`+"\n")); err != nil {
			t.Fatal(err)
		}
		if method == "most" {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			read = int64(len(line))
		}
	}
	s.status("both calls are open", openCalls(2))
	a.Detach()
	a.Release()
	next := s.server(read, nil)
	next.call(t, "most")
	stop(t, next.codex)
	if n := next.count(unanswered); n != 1 {
		t.Errorf("%d calls were reported, want only the one without an answer", n)
	}
}

// A server refused a request and died before it stored the request. The next one refuses it again, and codex gets the
// refusal once.
func TestARefusalReachesCodexOnce(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, "x")
	first := s.server(0, keepOnStop)
	first.call(t, "ask")
	first.wait(t, "the refusal", func(s runtime.Signal) bool { return s.Method == "answer/seen" })
	stop(t, first.codex)
	next := s.server(0, nil) // nothing is stored: it reads everything again
	next.wait(t, "the request, again", func(s runtime.Signal) bool { return s.Kind == runtime.SignalRequest })
	next.call(t, "most")
	stop(t, next.codex)
	if n := next.count(func(s runtime.Signal) bool { return s.Method == "answer/seen" }); n != 1 {
		t.Errorf("codex got %d answers", n)
	}
}
