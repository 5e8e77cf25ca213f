package manager

import (
	"context"
	"sync"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/runtime/processes"
	"harness/internal/services/session"
)

// demand makes the second runtime of a pair start processes on demand, up to a maximum number.
func demand(p pair, most int) (set *processes.Set[string], over func(sessionID, turnID string)) {
	var (
		mu   sync.Mutex
		held = map[string]func(){}
	)
	set = processes.New(processes.Options[string]{Runtime: p.other.Name(), Max: most,
		Start: func(_ context.Context, id string, _ func()) (string, error) {
			generation := ids.New()
			p.other.serve(id, generation)
			return generation, nil
		},
		End: func(id, _ string) { p.other.leave(id) },
	})
	p.t.Cleanup(func() {
		if err := set.Stop(context.Background()); err != nil {
			p.t.Error(err)
		}
	})
	p.other.set = set
	p.other.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
		_, done, err := set.Use(p.t.Context(), in.ThreadID)
		if err != nil {
			return runtime.StartedTurn{}, err
		}
		mu.Lock()
		held[in.ThreadID] = done
		mu.Unlock()
		p.other.begin(in.ThreadID, turnID)
		return runtime.StartedTurn{TurnID: turnID}, nil
	}
	return set, func(sessionID, turnID string) {
		p.other.end(sessionID, turnID, runtime.TurnDone)
		mu.Lock()
		defer mu.Unlock()
		held[sessionID]()
	}
}

// With at most one process, idle sessions release it for each other and get it back with their next message. A message
// to a second session waits for the turn of the first, which is not cut off.
func TestProcessesOnDemand(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		set, over := demand(p, 1)
		one, two := p.session("a"), p.session("b")
		first := p.send(one.ID)
		waits := make(chan string)
		go func() {
			turnID, err := turnOf(p.Send(context.WithoutCancel(t.Context()), two.ID, session.Message{Text: "and me"}))
			if err != nil {
				t.Error(err)
			}
			waits <- turnID
		}()
		p.eventually("a message waits for a process", func() bool { _, waiting := set.List(); return waiting == 1 })
		if p.running(one) != first || p.running(two) != "" {
			t.Errorf("%q and %q run", p.running(one), p.running(two))
		}
		over(one.ID, first)
		second := <-waits
		if turn := p.turn(one.ID, first); turn.Status != runtime.TurnDone || p.running(one) != "" ||
			p.running(two) != second {
			t.Errorf("the first turn is %+v; %q and %q run", turn, p.running(one), p.running(two))
		}
		over(two.ID, second)
		again := p.send(one.ID)
		if turn := p.turn(two.ID, second); turn.Status != runtime.TurnDone || p.running(one) != again {
			t.Errorf("the second turn is %+v; %q runs in the first session", turn, p.running(one))
		}
		if turns, _ := p.other.seen(); turns[2].ThreadID != one.ID || turns[2].NativeID != "a" {
			t.Errorf("resumed %+v", turns[2])
		}
		if n := len(p.events(eventRuntimeStarted)); n != 1+5 { // codex, and a, b, a, b, a
			t.Errorf("%d processes were started", n)
		}
		over(one.ID, again)
	})
}
