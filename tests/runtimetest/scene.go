package runtimetest

import (
	"encoding/json"
	"errors"
	"testing"

	"harness/internal/runtime"
)

// scene is one agent and its output.
type scene struct {
	Target
	*Store
	*Agent
	t *testing.T
}

func (s *scene) open() string {
	s.t.Helper()
	thread, err := s.StartThread(s.t.Context(), runtime.StartThread{Cwd: s.Dir, ApprovalPolicy: "untrusted",
		Sandbox: s.sandbox(), NetworkAccess: "enabled"})
	if err != nil {
		s.t.Fatalf("open a conversation: %v", err)
	}
	if thread.ID == "" {
		s.t.Fatal("a conversation without an id")
	}
	return thread.ID
}

// sandbox returns the widest level the agent enforces, so that only approvals restrict it.
func (s *scene) sandbox() string {
	levels := s.Capabilities().Sandboxes
	if len(levels) == 0 {
		s.t.Fatal("it enforces no sandbox level at all, so nothing may be opened in it")
	}
	return levels[len(levels)-1]
}

func (s *scene) say(thread, text string) string {
	s.t.Helper()
	started, err := s.StartTurn(s.t.Context(), runtime.StartTurn{ThreadID: thread, Input: Text(text)})
	if err != nil {
		s.t.Fatalf("say %q: %v", text, err)
	}
	if started.TurnID == "" || started.Steered {
		s.t.Fatalf("say %q: began %+v", text, started)
	}
	return started.TurnID
}

// Text returns a message of one text part.
func Text(text string) []json.RawMessage {
	raw, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
	if err != nil {
		panic(err) // a text always encodes
	}
	return []json.RawMessage{raw}
}

// Ref returns the reference for the answer to a request.
func Ref(asked runtime.Signal) runtime.RequestRef {
	change, _ := asked.Change.(runtime.InteractiveRequested)
	return runtime.RequestRef{Generation: asked.Generation, RequestID: asked.RequestID, Method: asked.Method,
		Kind: change.Kind, ThreadID: asked.ThreadID, TurnID: asked.TurnID, Params: asked.Params, Asked: change.Asked}
}

func (s *scene) answer(asked runtime.Signal, reply runtime.Reply) {
	s.t.Helper()
	if err := s.CheckReply(Ref(asked), reply); err != nil {
		s.t.Fatalf("the reply %+v is refused: %v", reply, err)
	}
	if err := s.Answer(s.t.Context(), Ref(asked), reply); err != nil {
		s.t.Fatalf("answer %+v: %v", reply, err)
	}
	if err := s.Answer(s.t.Context(), Ref(asked), reply); !errors.Is(err, runtime.ErrRequestGone) {
		s.t.Errorf("the same answer again: %v", err)
	}
}

// said returns the text of an agent's messages in a turn.
func (s *scene) said(turn string) (text string) {
	for _, signal := range s.Signals() {
		if change, ok := signal.Change.(runtime.ItemChanged); ok && change.Done && change.TurnID == turn &&
			change.Item.Role == "assistant" {
			text += contentOf(change.Item)
		}
	}
	return text
}

// held starts a turn and returns when its answer is held.
func (s *scene) held(thread, name string) (turn string) {
	s.t.Helper()
	turn = s.say(thread, s.Script.Hold(name))
	if err := s.AwaitHeld(s.t.Context(), name); err != nil {
		s.t.Fatal(err)
	}
	return turn
}
