// Package runtimetest is the conformance suite of runtime adapters. It checks the promises of every adapter to the
// services above it, with a real agent and a scripted model. An adapter's own tests call Run; tests specific to an
// agent stay there.
//
// It must know no provider: an agent gets only texts of Script, and all signals are neutral.
package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// Adapter is an adapter with its conversations.
type Adapter interface {
	runtime.Adapter
	runtime.Threads
}

// Agent is an adapter with its real agent, started.
type Agent struct {
	Adapter
	// Dir is a folder the agent may work in.
	Dir string
	// Release lets a held model answer (Script.Hold) continue.
	Release func(name string)
	// AwaitHeld returns when the model answer of that name is held.
	AwaitHeld func(ctx context.Context, name string) error
	// Prompted returns the last request to its model that contains a text, "" when there is none; nil for an agent
	// without a model.
	Prompted func(text string) string
	// Kill kills the process of a conversation at once. It is nil for an agent without a login whose next process
	// starts too slowly.
	Kill func(t *testing.T, threadID string)
	// Leave stops the adapter like a server that keeps its agents, and Next starts the next server's. Both are nil if
	// no process of this agent outlives a server.
	Leave func(t *testing.T)
	Next  func(t *testing.T) *Agent
	// NeedsLogin makes a request that requires a login; nil: open a conversation and send a message in it.
	NeedsLogin func(ctx context.Context) error
	// PollsLate means that only the first turn shows a missing login.
	PollsLate bool
	// Key logs the agent in, for an adapter that accepts keys (runtime.KeyTaker).
	Key runtime.ProviderKey
}

// Script makes prompts for an agent's scripted model.
type Script struct {
	// Reply answers with a text. Hold answers one word, waits for Agent.Release(name) and then answers the name. Fail
	// makes the model's server refuse with an HTTP status.
	Reply, Hold func(text string) string
	Fail        func(status int) string
	// Command runs a shell command, Ask asks the user a question ("" for an agent that cannot).
	Command func(command string) string
	Ask     string
	// AskSeveral asks a question that accepts several answers: "a, b", "\"c\"" and "d"; "" for an agent without such
	// questions.
	AskSeveral string
	// Flood answers with that many deltas, as fast as it can. Their text is the numbers from 0 on, with words between
	// them. nil skips the test.
	Flood func(deltas int) string
}

// Target is an adapter under test.
type Target struct {
	Script Script
	// New starts an agent that reports to a store.
	New func(t *testing.T, store *Store) *Agent
	// Hanging and Missing start an adapter with an agent that never answers its first request, or is missing.
	Hanging, Missing func(t *testing.T, store *Store) *Agent
	// Proxied is New with the agent behind a proxy (Proxy.Program). nil for an agent without lines skips the faults
	// of lines.
	Proxied func(t *testing.T, store *Store, proxy *Proxy) *Agent
	// LoggedOut is New for an agent that finds no login and requires one; nil skips the test.
	LoggedOut func(t *testing.T, store *Store) *Agent
	// Old means that the agent is an old version with looser rules. The first item of a turn may precede its start. A
	// refused tool may have only its end. The interruption of an ended turn has no answer.
	Old bool
	// Check checks all signals of a test against the protocol of clients; nil checks nothing.
	Check func(t testing.TB, signals []runtime.Signal)
	// Dear means that an agent starts slowly. The tests that need a separate process, or end it, share one, one after
	// another.
	Dear bool
}

// trial is a test of the suite.
type trial struct {
	name string
	run  func(*testing.T, *scene)
}

// own returns the trials that need a separate process, in an order in which one process can serve them.
func own() []trial {
	return []trial{{"a flood for a slow reader", flooded}, {"a server that comes back", survives},
		{"a server that dies storing nothing", repeats}, {"a killed agent", killed}}
}

// Own reports whether a test of the suite needs a separate process (Target.New).
func Own(t *testing.T) bool {
	return filepath.Base(t.Name()) == ownProcess || slices.ContainsFunc(own(), func(one trial) bool {
		return strings.ReplaceAll(one.name, " ", "_") == filepath.Base(t.Name())
	})
}

// ownProcess is the name of the test with all of own, for an agent that is dear.
const ownProcess = "a_process_of_its_own"

// runOwn runs the tests that need a separate process.
func runOwn(t *testing.T, target Target) {
	if !target.Dear {
		for _, one := range own() {
			runOne(t, target, one)
		}
		return
	}
	t.Run(ownProcess, func(t *testing.T) {
		t.Parallel()
		store := NewStore()
		s := &scene{Target: target, Store: store, Agent: target.New(t, store), t: t}
		for _, one := range own() {
			t.Log(one.name)
			one.run(t, s)
		}
		store.check(t, target)
	})
}

func runOne(t *testing.T, target Target, one trial) {
	t.Run(one.name, func(t *testing.T) {
		t.Parallel()
		store := NewStore()
		s := &scene{Target: target, Store: store, Agent: target.New(t, store), t: t}
		one.run(t, s)
		store.check(t, target)
	})
}

// Run checks all promises of an adapter. It must refuse operations that its capabilities exclude.
func Run(t *testing.T, target Target) {
	runOwn(t, target)
	for name, test := range map[string]func(*testing.T, *scene){
		"a turn is in order":                      streams,
		"a failed turn":                           fails,
		"an approval":                             approves,
		"a question":                              asks,
		"a question with several answers":         asksSeveral,
		"an interrupted turn":                     interrupts,
		"a message to a busy conversation":        steers,
		"two conversations":                       sideBySide,
		"levels and parts that cannot be honored": refuses,
		"a conversation without a person":         unattended,
		"a conversation that is closed":           closes,
		"models and credentials":                  offers,
	} {
		runOne(t, target, trial{name, test})
	}
	for name, test := range map[string]func(*testing.T, *scene, *Proxy){"a line without an end": halfLine,
		"a line of 64 MiB": longLine} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if target.Proxied == nil {
				t.Log("this agent does not speak in lines")
				return
			}
			store, proxy := NewStore(), NewProxy(t)
			s := &scene{Target: target, Store: store, Agent: target.Proxied(t, store, proxy), t: t}
			test(t, s, proxy)
			store.check(t, target)
		})
	}
	t.Run("an agent without a login", func(t *testing.T) {
		t.Parallel()
		if target.LoggedOut == nil {
			t.Log("this agent never wants one")
			return
		}
		store := NewStore()
		loggedOut(t, &scene{Target: target, Store: store, Agent: target.LoggedOut(t, store), t: t})
	})
	t.Run("an agent that hangs at its start", func(t *testing.T) {
		t.Parallel()
		unusable(t, target.Hanging)
	})
	t.Run("an agent that is missing", func(t *testing.T) {
		t.Parallel()
		unusable(t, target.Missing)
	})
}

func streams(t *testing.T, s *scene) {
	const words = "Grüße <&> \u2028 end"
	thread := s.open()
	turn := s.say(thread, s.Script.Reply(words))
	if end := s.End(t, turn); end.Status != runtime.TurnDone || end.Error != "" {
		t.Errorf("the turn ended %+v", end)
	}
	if got := s.said(turn); got != words {
		t.Errorf("it said %q", got)
	}
	var order []string
	for _, signal := range s.Signals() {
		if signal.TurnID == turn && signal.ThreadID != thread {
			t.Errorf("%s is of conversation %q", signal.Method, signal.ThreadID)
		}
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			order = append(order, "begin")
		case runtime.ItemChanged:
			if change.Done {
				order = append(order, change.Item.Role)
			}
		case runtime.TurnCompleted:
			order = append(order, "end")
		}
	}
	got := strings.Join(order, " ")
	if got != "begin user assistant end" && (!s.Old || got != "user begin assistant end") {
		t.Errorf("the order is %s", got)
	}
	again := s.say(thread, s.Script.Reply("more"))
	if end := s.End(t, again); end.Status != runtime.TurnDone || again == turn {
		t.Errorf("the second turn %s ended %+v", again, end)
	}
}

func fails(t *testing.T, s *scene) {
	thread := s.open()
	for status, kind := range map[int]error{http.StatusBadRequest: nil, http.StatusUnauthorized: runtime.ErrAuthRequired} {
		end := s.End(t, s.say(thread, s.Script.Fail(status)))
		if end.Status != runtime.TurnFailed || end.Error == "" || errors.Is(end.Kind, runtime.ErrAuthRequired) != (kind != nil) {
			t.Errorf("refused with %d the turn ended %+v", status, end)
		}
	}
	if end := s.End(t, s.say(thread, s.Script.Reply("fine"))); end.Status != runtime.TurnDone {
		t.Errorf("the turn after it ended %+v", end)
	}
}

func asks(t *testing.T, s *scene) {
	if s.Script.Ask == "" {
		t.Log("its model has no way to ask")
		return
	}
	turn := s.say(s.open(), s.Script.Ask)
	if !s.Capabilities().ToolInput {
		if end := s.End(t, turn); end.Status != runtime.TurnDone {
			t.Errorf("a turn whose model asks ended %+v", end)
		}
		for _, signal := range s.Signals() {
			if change, is := signal.Change.(runtime.InteractiveRequested); is && change.Kind == runtime.RequestToolInput &&
				signal.TurnID == turn {
				t.Errorf("its capabilities say otherwise than its questions: %s", signal.Raw)
			}
		}
		return
	}
	asked := s.Asked(t, turn, runtime.RequestToolInput)
	if subject := asked.Change.(runtime.InteractiveRequested).Asked.Subject; subject != runtime.SubjectQuestion {
		t.Errorf("asked about %q", subject)
	}
	s.answer(asked, runtime.Reply{Decision: "accept", Answers: json.RawMessage(`{"q1":{"answers":["B it is"]}}`)})
	if end := s.End(t, turn); end.Status != runtime.TurnDone || !strings.Contains(s.said(turn), "B it is") {
		t.Errorf("the turn ended %+v and said %q", end, s.said(turn))
	}
}

func steers(t *testing.T, s *scene) {
	thread := s.open()
	turn := s.held(thread, "s")
	if _, err := s.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread, ActiveTurnID: turn, Alone: true,
		Input: Text("x")}); !errors.Is(err, runtime.ErrTurnActive) {
		t.Errorf("a message that is to be alone: %v", err)
	}
	steerer, can := runtime.Has[runtime.Steerer](s.Adapter, runtime.OpSteer)
	if can != runtime.CapabilitiesOf(s.Adapter).Steer {
		t.Errorf("its capabilities say otherwise than its methods")
	}
	if can {
		if err := steerer.SteerTurn(t.Context(), thread, turn, Text("also this")); err != nil {
			t.Errorf("steer: %v", err)
		}
		if err := steerer.SteerTurn(t.Context(), thread, "01a1fbb8-c2da-7e63-acae-680bdab083fd", Text("no")); !errors.Is(err,
			runtime.ErrNoActiveTurn) {
			t.Errorf("steer a turn that does not run: %v", err)
		}
	} else if _, err := s.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread, Input: Text("x")}); !errors.Is(err,
		runtime.ErrTurnActive) {
		t.Errorf("a message it cannot steer: %v; it must not cut the running turn off", err)
	}
	s.Release("s")
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
}

func sideBySide(t *testing.T, s *scene) {
	one, other := s.open(), s.open()
	first, second := s.held(one, "a"), s.held(other, "b")
	if one == other || first == second {
		t.Fatalf("conversations %s, %s have turns %s, %s", one, other, first, second)
	}
	if err := s.InterruptTurn(t.Context(), one, first); err != nil {
		t.Fatal(err)
	}
	if end := s.End(t, first); end.Status != runtime.TurnInterrupted {
		t.Errorf("the first turn ended %+v", end)
	}
	s.Release("b")
	if end := s.End(t, second); end.Status != runtime.TurnDone {
		t.Errorf("the other turn ended %+v", end)
	}
	if status := s.Status(); status.State != runtime.StateReady {
		t.Errorf("its status is %+v", status)
	}
}

// killed: the end of a process is published once, after all its output, and only for conversations it served.
func killed(t *testing.T, s *scene) {
	thread, other := s.open(), s.open()
	s.End(t, s.say(thread, s.Script.Reply("remember"))) // some agents cannot resume before their first turn
	running := ""
	if s.Capabilities().ProcessPer == runtime.ProcessPerThread {
		running = s.held(other, "o")
	}
	s.held(thread, "k")
	s.Kill(t, thread)
	gone := s.wait(t, "the end of the process", func(signal runtime.Signal) bool {
		return signal.Kind == runtime.SignalExited
	})
	if gone.Exit == nil {
		t.Error("its end says nothing of how it ended")
	}
	if running != "" {
		if gone.Serves != thread {
			t.Errorf("the process that ended served %q", gone.Serves)
		}
		s.Release("o")
		if end := s.End(t, running); end.Status != runtime.TurnDone {
			t.Errorf("the turn of the other conversation ended %+v", end)
		}
	}
	if end := s.End(t, s.say(thread, s.Script.Reply("back"))); end.Status != runtime.TurnDone {
		t.Errorf("the turn after it ended %+v", end)
	}
	for i, signal := range s.Signals() {
		if signal.Generation == gone.Generation && signal.Kind == runtime.SignalExited {
			for _, later := range s.Signals()[i+1:] {
				if later.Generation == gone.Generation {
					t.Errorf("after its end it said %s %s", later.Kind, later.Method)
				}
			}
			break
		}
	}
}

// survives: the next server continues with the agents of the last one, from the position where that stopped reading.
func survives(t *testing.T, s *scene) {
	if !s.Capabilities().SurvivesRestart {
		if s.Leave != nil {
			t.Error("its capabilities say otherwise than its target")
		}
		return
	}
	thread := s.open()
	turn := s.held(thread, "n")
	asking := s.open()
	file := filepath.Join(s.Dir, "later")
	waits := s.say(asking, s.Script.Command("touch "+file))
	asked := s.Asked(t, waits, runtime.RequestApproval)
	processes := fmt.Sprint(s.Generations())
	s.Leave(t)
	s.Release("n") // the next server reads the output written without a server
	s.Agent = s.Next(t)
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	if err := s.Answer(t.Context(), Ref(asked), runtime.Reply{Decision: "accept", Scope: "turn"}); err != nil {
		t.Errorf("answer a request of before: %v", err)
	}
	if end := s.End(t, waits); end.Status != runtime.TurnDone {
		t.Errorf("the turn that waited ended %+v", end)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	for _, generation := range s.Generations() {
		if !strings.Contains(processes, generation) {
			t.Errorf("process %s was started beside %s", generation, processes)
		}
	}
}

func refuses(t *testing.T, s *scene) {
	c := runtime.CapabilitiesOf(s.Adapter)
	var control *runtime.ControlError
	if err := c.CheckControls(s.Name(), "untrusted", "no such level", ""); !errors.As(err, &control) ||
		len(control.Enforced) != len(c.Sandboxes) {
		t.Errorf("an unknown level: %v", err)
	}
	checkFacts(t, c)
	thread := s.open()
	turn := s.say(thread, s.Script.Command("touch "+filepath.Join(s.Dir, "refused")))
	asked := s.Asked(t, turn, runtime.RequestApproval)
	var refused *runtime.ReplyError
	for _, wrong := range []runtime.Reply{{}, {Decision: "perhaps"}, {Decision: "accept", Option: "no such option"}} {
		if err := s.CheckReply(Ref(asked), wrong); !errors.As(err, &refused) {
			t.Errorf("the reply %+v: %v", wrong, err)
		}
	}
	s.answer(asked, runtime.Reply{Decision: "decline"})
	s.End(t, turn)
	if s.Old {
		return
	}
	if err := s.InterruptTurn(t.Context(), thread, turn); !errors.Is(err, runtime.ErrNoActiveTurn) {
		t.Errorf("interrupt a turn that is over: %v", err)
	}
}

// unusable: an adapter without a working agent reports that, and refuses within bounds.
func unusable(t *testing.T, start func(*testing.T, *Store) *Agent) {
	store := NewStore()
	agent := start(t, store)
	_, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: agent.Dir})
	if !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("open a conversation: %v", err)
	}
	if status := agent.Status(); status.State == runtime.StateReady || status.Reason == "" {
		t.Errorf("its status is %+v", status)
	}
	if auth, err := agent.Auth(t.Context()); err != nil || auth.State == "" {
		t.Errorf("its credentials are %+v, %v; they are known without it", auth, err)
	}
	for _, signal := range store.Signals() {
		if signal.Kind == runtime.SignalStarted {
			t.Error("a start of it was published")
		}
	}
}
