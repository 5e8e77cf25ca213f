package codex_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
)

// workerSaid returns codex's signals about a worker's conversation, each with its worker mark.
func (b *faultBundle) workerSaid() (said []string) {
	for _, s := range b.all() {
		if s.ThreadID != "w1" {
			continue
		}
		if opened, is := s.Change.(runtime.ThreadOpened); is && opened.SystemOwned {
			said = append(said, "worker's")
		} else {
			said = append(said, s.Method)
		}
	}
	return said
}

// A worker's conversation is known as one before codex's first signal of it. Four cases: the call is answered; its
// answer was read but not stored; its server died before the answer; its caller canceled.
func TestWorkerConversationIsKnownBeforeItsFirstMessage(t *testing.T) {
	t.Parallel()
	worker := runtime.StartThread{SessionID: "s", Cwd: "/", ApprovalPolicy: "never", Sandbox: "read-only", SystemOwned: true}
	check := func(t *testing.T, b *faultBundle) {
		t.Helper()
		b.wait(t, "the warning", func(s runtime.Signal) bool { return s.Method == "warning" })
		if said := b.workerSaid(); len(said) < 3 || said[0] != "worker's" {
			t.Errorf("it said %v", said)
		}
	}
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		s := newSurvivor(t, "x")
		first := s.server(0, keepOnStop)
		if _, err := first.codex.StartThread(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
		check(t, first)
		s.status("the call is open until its answer is stored", openCalls(1))
		stop(t, first.codex)
		next := s.server(0, nil) // nothing was stored
		check(t, next)
		_, stored := next.batchOf(func(s runtime.Signal) bool { return s.Change == runtime.ThreadOpened{SystemOwned: true} })
		stored()
		s.status("nothing is open", openCalls(0))
		stop(t, next.codex)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		s := newSurvivor(t, "later")
		first := s.server(0, keepOnStop)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = first.codex.StartThread(context.Background(), worker)
		}()
		s.status("the call is under way", openCalls(1))
		stop(t, first.codex)
		<-ended
		next := s.server(0, nil)
		next.call(t, "release")
		check(t, next)
		stop(t, next.codex)
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		s := newSurvivor(t, "later")
		const patience = 2 * time.Second
		b := s.server(0, func(o *codex.Options) { o.Setup.Supervise.CallTimeout = patience })
		if _, err := b.codex.StartThread(t.Context(), worker); !errors.Is(err, runtime.ErrTimeout) {
			t.Fatalf("it was answered %v", err)
		}
		<-time.After(patience / 2) // by then no server waits for an answer to an earlier one
		b.call(t, "release")
		check(t, b)
		stop(t, b.codex)
	})
}

// ST-15: a person's conversation that starts while a worker's is being opened stays visible: the worker's answer would
// have named it before.
func TestAPersonsConversationIsVisibleWhileAWorkersOpens(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, "later")
	b := s.server(0, nil)
	opened := make(chan error, 1)
	go func() {
		_, err := b.codex.StartThread(context.Background(), runtime.StartThread{SessionID: "s", Cwd: "/",
			ApprovalPolicy: "never", Sandbox: "read-only", SystemOwned: true})
		opened <- err
	}()
	s.status("the worker's call is under way", openCalls(1))
	b.call(t, "open")
	started := b.wait(t, "the conversation", func(s runtime.Signal) bool { return s.ThreadID == "p1" })
	if started.WorkerOpening {
		t.Errorf("%s is marked as one that may be the worker's", started.Method)
	}
	b.call(t, "release")
	if err := <-opened; err != nil {
		t.Error(err)
	}
	stop(t, b.codex)
}

// The conversation of a sub-agent names its parent, in the format of each version.
func TestASubAgentsConversationNamesItsParent(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]runtime.Change{
		`{"id":"c","parentThreadId":"p"}`: runtime.ThreadOpened{ParentID: "p"},
		`{"id":"c","source":{"subAgent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}}`: runtime.ThreadOpened{ParentID: "p"},
		`{"id":"c","source":"vscode","parentThreadId":null}`:                                   nil,
		`{"id":"c","source":{"subAgent":"review"}}`:                                            nil,
	} {
		signal, err := codex.Read([]byte(`{"method":"thread/started","params":{"thread":` + line + `}}`))
		if err != nil || signal.Change != want || signal.ThreadID != "c" {
			t.Errorf("%s reads as %+v, %v", line, signal.Change, err)
		}
	}
}
