package opencode_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode"
	"harness/tests/mockmodel"
	"harness/tests/polling"
	"harness/tests/runtimetest"
)

// The stream of events breaks while one turn runs to its end, another sends a request and a third starts. After the
// stream is back, everything is published once.
func TestEventsThatWereMissed(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	s := newSite(t, store.Sink, store.Resume)
	o := s.behindProxy(t)
	open := func() conversation {
		thread, err := o.StartThread(t.Context(), full(s.dir, "untrusted"))
		if err != nil {
			t.Fatal(err)
		}
		return conversation{t, o, store, thread}
	}
	goesOn, asks, begins := open(), open(), open()
	first := goesOn.say("MOCK_HOLD[gap]")
	if err := s.model.WaitHeld(t.Context(), "gap"); err != nil {
		t.Fatal(err)
	}
	second := asks.say("MOCK_HOLD[ask]")
	if err := s.model.WaitHeld(t.Context(), "ask"); err != nil {
		t.Fatal(err)
	}
	goesOn.eventually("the first piece", func() bool { return newText(store, first) != "" })

	signalBridge := func(signal syscall.Signal) {
		if err := syscall.Kill(o.Status().PID, signal); err != nil {
			t.Fatal(err)
		}
	}
	signalBridge(syscall.SIGUSR1)
	s.model.Release("gap")
	goesOn.eventually("the end of a turn without a reader", func() bool {
		read, err := o.ReadThread(t.Context(), goesOn.thread.Native(), true)
		if err != nil {
			t.Fatal(err)
		}
		return len(read.Turns) == 1 && len(read.Turns[0].Items) == 2 &&
			strings.Contains(read.Turns[0].Items[1].Content, "released gap")
	})
	third := make(chan string, 1)
	go func() {
		defer close(third)
		third <- begins.say("MOCK_REPLY[begun in the dark]")
	}()
	if _, err := s.waitAsked(t, "begun in the dark"); err != nil {
		t.Fatal(err)
	}
	signalBridge(syscall.SIGUSR2)

	goesOn.done(first)
	if text := newText(store, first); text != "holding released gap" {
		t.Errorf("its pieces are %q", text)
	}
	goesOn.done(<-third)
	s.model.Release("ask")
	asks.done(second)
	next := asks.say("MOCK_CMD[true]")
	asks.answer(next, runtime.Reply{Decision: "accept"})
	asks.done(next)
	stop(t, o)
	var signals []runtime.Signal
	for _, signal := range store.Signals() {
		if signal.ThreadID != "" {
			signals = append(signals, signal)
		}
	}
	opencode.CheckRules(t, signals, false)
}

// A user declines a change of a file while the stream is broken: the published turn and the stored one show it.
func TestADeclineThatWasMissed(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	s := newSite(t, store.Sink, store.Resume)
	o := s.behindProxy(t)
	thread, err := o.StartThread(t.Context(), full(s.dir, "untrusted"))
	if err != nil {
		t.Fatal(err)
	}
	k := conversation{t, o, store, thread}
	signalBridge := func(signal syscall.Signal) {
		if err := syscall.Kill(o.Status().PID, signal); err != nil {
			t.Fatal(err)
		}
	}
	made := filepath.Join(s.dir, "declined.txt")
	turn := k.say("MOCK_PATCH[" + made + "]")
	store.Asked(t, turn, runtime.RequestApproval)
	signalBridge(syscall.SIGUSR1)
	k.answer(turn, runtime.Reply{Decision: "decline"})
	change := func(item runtime.Item) bool { return item.Type == "fileChange" }
	declined := func(item runtime.Item) bool {
		return change(item) && strings.Contains(item.Details, `"status": "declined"`)
	}
	var read []runtime.Item
	k.eventually("what is read", func() bool {
		thread, err := o.ReadThread(t.Context(), k.thread.Native(), true)
		if err != nil {
			t.Fatal(err)
		}
		if len(thread.Turns) == 1 {
			read = thread.Turns[0].Items
		}
		return slices.ContainsFunc(read, change)
	})
	if !slices.ContainsFunc(read, declined) {
		t.Errorf("it is read as %+v", read)
	}
	signalBridge(syscall.SIGUSR2)
	k.done(turn)
	shown := 0
	for _, signal := range store.Signals() {
		if done, is := signal.Change.(runtime.ItemChanged); is && done.Done && change(done.Item) {
			shown++
			if !declined(done.Item) {
				t.Errorf("it is shown as %s", signal.Raw)
			}
		}
	}
	if shown != 1 {
		t.Errorf("it is shown %d times", shown)
	}
	if exists(made) {
		t.Error("what was declined was done")
	}
	stop(t, o)
}

// A message that waits for the start of OpenCode is sent before the bridge reads its events: its turn is published
// nevertheless.
func TestEventsBeforeTheFirstArePublished(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	s := newSite(t, store.Sink, store.Resume)
	o := s.behindProxy(t, lateVariable+"=1")
	thread, err := o.StartThread(t.Context(), full(s.dir, "untrusted"))
	if err != nil {
		t.Fatal(err)
	}
	k := conversation{t, o, store, thread}
	turn := make(chan string, 1)
	go func() {
		defer close(turn)
		turn <- k.say("MOCK_REPLY[begun in the dark]")
	}()
	if _, err := s.waitAsked(t, "begun in the dark"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(o.Status().PID, syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	k.done(<-turn)
	stop(t, o)
}

// behindProxy starts OpenCode behind a proxy that can lose its events (proxied).
func (s *site) behindProxy(t *testing.T, env ...string) *opencode.OpenCode {
	s.options.Launch.Env = append(append(s.options.Launch.Env, proxyVariable+"="+s.options.Bin), env...)
	s.options.Bin, s.options.Supervise.KeepOnStop = runtimetest.Executable(t), false
	return s.start()
}

// waitAsked waits for a request to the model that contains a text.
func (s *site) waitAsked(t *testing.T, text string) (mockmodel.Request, error) {
	for n := 1; ; n++ {
		request, err := s.model.WaitRequest(t.Context(), n)
		if err != nil || strings.Contains(request.UserText, text) {
			return request, err
		}
	}
}

// newText returns the concatenated deltas of a turn's messages.
func newText(store *runtimetest.Store, turn string) (text string) {
	for _, signal := range store.Signals() {
		if change, is := signal.Change.(runtime.TextDelta); is && signal.TurnID == turn &&
			change.Into == runtime.TextContent {
			text += strings.Trim(string(signal.Raw[change.Start:change.End]), `"`)
		}
	}
	return text
}

// eventually polls for a condition without an event.
func (k conversation) eventually(what string, condition func() bool) {
	k.Helper()
	if !polling.Until(patience, condition) {
		k.Fatalf("never: %s", what)
	}
}
