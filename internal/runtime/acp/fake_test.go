package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// runAsFake makes the test binary an agent that never answers a message. Its value is its reaction to the
// cancellation of a turn: obey or ignore. With ask it requests approval in each turn, and completes the turn after
// the answer; with wait, too, unless the turn was cancelled before. With auto it starts in a mode without approvals,
// and completes a turn only after a change to the mode with approvals.
const runAsFake = "HARNESS_TEST_FAKE_AGENT"

// fakeAgent is an agent with faults that real ones cannot be made to show.
func fakeAgent(mode string) {
	prompts, cancelled := map[string]json.RawMessage{}, map[string]bool{}
	asks, inDefault := mode == "ask" || mode == "wait", map[string]bool{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var l struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				SessionID string `json:"sessionId"`
				ModeID    string `json:"modeId"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			os.Exit(3)
		}
		answer := func(id json.RawMessage, result string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		switch {
		case l.Method == "initialize":
			answer(l.ID, `{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1"},"agentCapabilities":{"loadSession":true}}`)
		case l.Method == "session/new":
			answer(l.ID, fmt.Sprintf(`{"sessionId":"fake-%d","modes":{"currentModeId":"auto","availableModes":[{"id":"auto"},`+
				`{"id":"default"}]}}`, time.Now().UnixNano()))
		case l.Method == "session/set_mode":
			inDefault[l.Params.SessionID] = l.Params.ModeID == "default"
			answer(l.ID, `{}`)
		case l.Method == "session/prompt" && mode == "auto":
			answer(l.ID, map[bool]string{true: `{"stopReason":"end_turn"}`, false: `{"stopReason":"refusal"}`}[inDefault[l.Params.SessionID]])
		case l.Method == "session/prompt":
			prompts[l.Params.SessionID] = l.ID
			if asks {
				fmt.Printf(`{"jsonrpc":"2.0","id":"%s","method":"session/request_permission","params":{"sessionId":"%[1]s",`+
					`"toolCall":{"toolCallId":"call","kind":"execute","rawInput":{"command":"ls"}},`+
					`"options":[{"optionId":"no","name":"No","kind":"reject_once"}]}}`+"\n", l.Params.SessionID)
			}
		case l.Method == "" && asks:
			var session string
			if json.Unmarshal(l.ID, &session) != nil {
				os.Exit(3)
			}
			if cancelled[session] {
				answer(prompts[session], `{"stopReason":"cancelled"}`)
				continue
			}
			answer(prompts[session], `{"stopReason":"end_turn"}`)
		case l.Method == "session/cancel" && mode == "wait":
			cancelled[l.Params.SessionID] = true
		case l.Method == "session/cancel" && mode == "obey":
			answer(prompts[l.Params.SessionID], `{"stopReason":"cancelled"}`)
		case l.Method != "" && l.ID != nil:
			answer(l.ID, `{}`)
		}
	}
}

func fake(t *testing.T, mode string, shims bool, store *runtimetest.Store, silence time.Duration) *runtimetest.Agent {
	t.Helper()
	profile := acp.Profile{Name: "acp:fake", Command: []string{runtimetest.Executable(t)}, RejectEndsTurn: mode == "ask"}
	s := newSite(t, mockmodel.Start(t), profile, shims, runAsFake+"="+mode)
	s.options.Setup.TurnWatchdog = stdio.TurnWatchdog(silence)
	return s.start(t, store)
}

func begin(t *testing.T, agent *runtimetest.Agent) (thread, turn string) {
	t.Helper()
	opened, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: agent.Dir, ApprovalPolicy: "on-request",
		Sandbox: "danger-full-access"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: opened.ID, Input: runtimetest.Text("hello?")})
	if err != nil {
		t.Fatal(err)
	}
	return opened.ID, started.TurnID
}

// If an agent with unknown modes starts in one without approvals, the adapter selects the one with approvals.
func TestAgentWithUnknownModesAsks(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	_, turn := begin(t, fake(t, "auto", false, store, time.Minute))
	if ended := store.End(t, turn); ended.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", ended)
	}
}

// The adapter requests the end of a turn with a silent agent, and the turn fails.
func TestUnresponsiveTurnIsEnded(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	agent := fake(t, "obey", false, store, 2*time.Second) // the agent gets the same time again to obey
	thread, turn := begin(t, agent)
	if end := store.End(t, turn); end.Status != runtime.TurnFailed ||
		!strings.Contains(end.Error, "said nothing for 2s") {
		t.Errorf("it ended %+v", end)
	}
	if _, err := agent.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: thread, Input: runtimetest.Text("again")}); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

// If a user cancels a request, its turn is interrupted, even if the agent ends the turn at once or reports another
// status. If a user declines a request, the turn ends with the agent's status.
func TestACancelledRequestInterruptsItsTurn(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ask", "wait"} {
		for decision, want := range map[string]runtime.TurnStatus{"cancel": runtime.TurnInterrupted, "decline": runtime.TurnDone} {
			t.Run(mode+" "+decision, func(t *testing.T) {
				t.Parallel()
				store := runtimetest.NewStore()
				agent := fake(t, mode, false, store, 0)
				_, turn := begin(t, agent)
				asked := runtimetest.Ref(store.Asked(t, turn, runtime.RequestApproval))
				if err := agent.Answer(t.Context(), asked, runtime.Reply{Decision: decision}); err != nil {
					t.Errorf("answer: %v", err)
				}
				if end := store.End(t, turn); end.Status != want {
					t.Errorf("it ended %+v", end)
				}
			})
		}
	}
}

// If the agent ignores that request, the adapter kills its process. The next message starts another one.
func TestUnresponsiveAgentIsEnded(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	agent := fake(t, "ignore", false, store, 50*time.Millisecond)
	begin(t, agent)
	gone := store.Exited(t, "")
	if gone.Exit == nil || !strings.Contains(gone.Exit.Reason, "said nothing") {
		t.Errorf("its end says %+v", gone.Exit)
	}
	if _, turn := begin(t, agent); turn == "" {
		t.Error("the next message begins no turn")
	}
}

// If a server dies after it publishes a turn and before it sends the message, the next server ends the turn.
func TestATurnWhoseMessageWasNotSentIsEnded(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	agent := fake(t, "obey", true, store, 0)
	thread, sent := begin(t, agent)
	generation := store.Generations()[0]
	agent.Leave(t)
	lost := wire.TurnStarted("other", wire.Turn{ID: "lost", StartedAt: 1})
	lost.Generation, lost.ReceivedAt = generation, time.Now()
	store.Sink(runtime.Batch{Generation: generation, Signals: []runtime.Signal{lost}})
	next := agent.Next(t)
	if end := store.End(t, "lost"); end.Status != runtime.TurnInterrupted {
		t.Errorf("it ended %+v", end)
	}
	if err := next.InterruptTurn(t.Context(), thread, sent); err != nil {
		t.Errorf("the turn whose message was sent: %v", err)
	}
	if end := store.End(t, sent); end.Status != runtime.TurnInterrupted {
		t.Errorf("it ended %+v", end)
	}
}
