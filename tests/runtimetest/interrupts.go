package runtimetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/runtime"
)

func interrupts(t *testing.T, s *scene) {
	thread := s.open()
	turn := s.held(thread, "i")
	if err := s.InterruptTurn(t.Context(), thread, turn); err != nil {
		t.Fatal(err)
	}
	if end := s.End(t, turn); end.Status != runtime.TurnInterrupted {
		t.Errorf("the turn ended %+v", end)
	}
	file := filepath.Join(s.Dir, "interrupted")
	turn = s.say(thread, s.Script.Command("touch "+file))
	asked := s.Asked(t, turn, runtime.RequestApproval)
	if err := s.InterruptTurn(t.Context(), thread, turn); err != nil {
		t.Fatalf("while a person is asked: %v", err)
	}
	if end := s.End(t, turn); end.Status != runtime.TurnInterrupted {
		t.Errorf("while a person was asked the turn ended %+v", end)
	}
	if err := s.Answer(t.Context(), Ref(asked), runtime.Reply{Decision: "accept", Scope: "turn"}); !errors.Is(err,
		runtime.ErrRequestGone) {
		t.Errorf("an answer to what the turn asked: %v", err)
	}
	if end := s.End(t, s.say(thread, s.Script.Reply("on"))); end.Status != runtime.TurnDone {
		t.Errorf("the turn after it ended %+v", end)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it ran without approval")
	}
	asksRightAfter(t, s, thread)
}

// asksRightAfter: a turn asks right after an interrupted one, to which a message was added. Nothing late of the
// interrupted turn settles the request or ends the turn that asks.
func asksRightAfter(t *testing.T, s *scene, thread string) {
	const name = "at once"
	turn := s.held(thread, name)
	steerer, can := runtime.Has[runtime.Steerer](s.Adapter, runtime.OpSteer)
	if can {
		if err := steerer.SteerTurn(t.Context(), thread, turn, Text("added")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { // as a session does, which waits for the end of the turn only
		defer close(stopped)
		if err := s.InterruptTurn(ctx, thread, turn); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}()
	s.End(t, turn)
	cancel()
	<-stopped
	file := filepath.Join(s.Dir, name)
	turn = s.say(thread, s.Script.Command("touch '"+file+"'"))
	s.answer(s.Asked(t, turn, runtime.RequestApproval), runtime.Reply{Decision: "accept", Scope: "turn"})
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn right after it ended %+v", end)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the command right after it: %v", err)
	}
}
